//! One run of a scenario with one fault.

use std::panic::{AssertUnwindSafe, catch_unwind};

use dml::ash::vk::Result as Code;
use dml::vk::ValidationLog;
use dml_fault::{EntryPoint, Fault, Hit};

use super::answer::Trouble;
use super::request::check_lost;
use super::scenario::{OpenDevice, ScenarioContext};

/// Entry points whose failures the runtime works around: names and saved pipelines are a convenience, a
/// dropped ticket waits as long as needed, memory for uploads is also looked for in another type, and other
/// devices than the chosen one may fail.
const TOLERATED: [&str; 8] = [
    "vkEnumerateDeviceExtensionProperties",
    "vkAllocateMemory",
    "vkMapMemory",
    "vkSetDebugUtilsObjectNameEXT",
    "vkCreatePipelineCache",
    "vkGetPipelineCacheData",
    "vkWaitSemaphores",
    "vkGetQueryPoolResults",
];

/// Calls in which the loader may lack memory and go on with fewer drivers, so that the device is missing.
const LOADER: [&str; 2] = ["vkCreateInstance", "vkEnumeratePhysicalDevices"];

/// The outcome of a run.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// There was no fault, and every request succeeded.
    Clean(Vec<&'static EntryPoint>),
    /// The fault became a typed error.
    Refused(Hit),
    /// The fault was worked around.
    Tolerated(Hit),
}

/// Runs the scenario with `fault`; `Err` names the promise that was broken.
pub(crate) fn run(place: &ScenarioContext<'_>, fault: Option<Fault>) -> Result<Outcome, String> {
    let injector = place.injector;
    injector.arm(fault);
    let mut logs = Vec::new();
    let ended = catch_unwind(AssertUnwindSafe(|| attempt(place, &mut logs)));
    let result = ended.unwrap_or_else(|payload| {
        let text = payload.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
        Err(format!("a panic: {}", text.unwrap_or("without a message")))
    });
    let (live, blocks) = (injector.live_objects(), injector.live_host_blocks());
    injector.write_off();
    let foreign = injector.foreign_destructions();
    if !live.is_empty() {
        return Err(format!("{live:?} are left{}", also(&result)));
    }
    if !foreign.is_empty() {
        return Err(format!("{foreign:?} of somebody else were destroyed{}", also(&result)));
    }
    if !blocks.is_empty() {
        return Err(format!("host allocations are left: {blocks:?}{}", also(&result)));
    }
    let messages: Vec<_> = logs.iter().flat_map(ValidationLog::take).collect();
    match messages.first() {
        Some(first) => Err(format!("{} validation messages, first {first}", messages.len())),
        None => result,
    }
}

/// Another problem beside the first, as text.
fn also(result: &Result<Outcome, String>) -> String {
    result.as_ref().err().map_or_else(String::new, |problem| format!("; {problem}"))
}

/// The effect of the fault, as far as it is known before everything has been dropped.
enum Effect {
    Nothing,
    Error,
}

fn attempt(place: &ScenarioContext<'_>, logs: &mut Vec<ValidationLog>) -> Result<Outcome, String> {
    let mut seen = Effect::Nothing;
    let mut hit = None;
    for _ in 0..place.rounds() {
        seen = once(place, logs, &mut hit)?;
        if matches!(seen, Effect::Error) {
            break;
        }
    }
    let injector = place.injector;
    match (seen, hit.or_else(|| injector.hit())) {
        (Effect::Nothing, None) => Ok(Outcome::Clean(injector.calls())),
        (Effect::Error, Some(hit)) => Ok(Outcome::Refused(hit)),
        (Effect::Nothing, Some(hit)) if is_tolerable(hit) => Ok(Outcome::Tolerated(hit)),
        (Effect::Nothing, Some(_)) => Err("the failure was swallowed".to_owned()),
        (Effect::Error, None) => Err("an error without a fault".to_owned()),
    }
}

fn is_tolerable(hit: Hit) -> bool {
    // A loader or driver may work without the memory that it could not allocate.
    hit.host_allocation || TOLERATED.contains(&hit.entry_point)
}

/// Opens a device, makes all requests, and drops everything. After an error it goes on as a program would:
/// with the same device, or with a new one if the device was lost.
fn once(
    place: &ScenarioContext<'_>,
    logs: &mut Vec<ValidationLog>,
    hit: &mut Option<Hit>,
) -> Result<Effect, String> {
    let injector = place.injector;
    let mut on_error = |error: &dml::Error| {
        let found = injector.hit().ok_or_else(|| format!("an error without a fault: {error}"))?;
        injector.arm(None);
        *hit = Some(found);
        check_error(error, found)
    };
    let opened = match place.open(logs) {
        Ok(opened) => opened,
        Err(error) => {
            on_error(&error)?;
            return again(place, logs);
        }
    };
    match opened.request() {
        Ok(()) => Ok(Effect::Nothing),
        Err(Trouble::Wrong(text)) => Err(text),
        Err(Trouble::Error(error)) => {
            on_error(&error)?;
            if error.is_device_lost() {
                check_lost(&opened.device)?;
                let new = again(place, logs);
                // The lost one is dropped after the new one has worked.
                drop(opened);
                return new;
            }
            answered(&opened, "the same device")?;
            Ok(Effect::Error)
        }
    }
}

/// A new device in the same process works.
fn again(place: &ScenarioContext<'_>, logs: &mut Vec<ValidationLog>) -> Result<Effect, String> {
    let opened = place.open(logs).map_err(|error| format!("no new device opens: {error}"))?;
    answered(&opened, "a new device")?;
    Ok(Effect::Error)
}

fn answered(opened: &OpenDevice, who: &str) -> Result<(), String> {
    opened.request().map_err(|trouble| match trouble {
        Trouble::Error(error) => format!("{who} fails afterwards: {error}"),
        Trouble::Wrong(text) => format!("{who} is wrong afterwards: {text}"),
    })
}

/// Checks that `error` has the kind that `hit` should cause, and names the call.
fn check_error(error: &dml::Error, hit: Hit) -> Result<(), String> {
    let is_right = match hit.result {
        Code::ERROR_DEVICE_LOST => error.is_device_lost(),
        Code::ERROR_OUT_OF_HOST_MEMORY
        | Code::ERROR_OUT_OF_DEVICE_MEMORY
        | Code::ERROR_OUT_OF_POOL_MEMORY
        | Code::ERROR_FRAGMENTED_POOL
        | Code::ERROR_FRAGMENTATION
        | Code::ERROR_TOO_MANY_OBJECTS
        | Code::ERROR_MEMORY_MAP_FAILED => error.is_out_of_memory(),
        Code::ERROR_INCOMPATIBLE_DRIVER => error.is_unsupported(),
        Code::TIMEOUT | Code::NOT_READY => false,
        _ => matches!(error, dml::Error::Vulkan(dml::vk::Error::Vulkan { .. })),
    };
    if hit.host_allocation && LOADER.contains(&hit.entry_point) {
        return Ok(());
    }
    let name = hit.entry_point;
    if !is_right {
        return Err(format!("it became another kind of error: {error:?}"));
    }
    let text = error.to_string();
    if hit.result != Code::ERROR_INCOMPATIBLE_DRIVER && !text.contains(name) {
        return Err(format!("the error does not name the call: {text}"));
    }
    Ok(())
}
