//! The cost of a step with caches of one size on the device. There is one injector in a process, so this is its only
//! test.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use std::collections::BTreeSet;

use common::cached::Writer;
use common::device::{on_every_device_as, options};
use common::{host, tensors};
use dml::core::plan::{Access, Aliases, InPlace, Plan, Slot};
use dml::{Device, DeviceOptions, InstanceDesc};
use dml_fault::{EntryPoint, Injector};
use dml_import::program::{Binding, Initial, Step};
use dml_import::{DeviceTensor, IoBinding, Model, Session};

const CACHES: [(&str, &str); 2] = [("present_k", "past_k"), ("present_v", "past_v")];

/// Prefixes of the Vulkan commands that create, record or free anything.
const MAKING: [&str; 7] =
    ["vkAllocate", "vkCreate", "vkFree", "vkDestroy", "vkReset", "vkCmd", "vkUpdate"];

const WRITERS: [Writer; 3] =
    [Writer::GroupQueryAttention, Writer::MultiHeadAttention, Writer::TensorScatter];

fn in_caches(writer: Writer, device: &Device, places: u64) -> IoBinding {
    let content = |seed| DeviceTensor::new(device, &writer.cache(places, seed)).unwrap();
    let pairs = CACHES.into_iter().zip([3, 4]);
    pairs.fold(IoBinding::new(), |binding, ((output, input), seed)| {
        binding.with_cache(output, input, content(seed))
    })
}

fn in_states(writer: Writer, device: &Device, places: u64) -> IoBinding {
    let content = |seed| DeviceTensor::new(device, &writer.cache(places, seed)).unwrap();
    let pairs = CACHES.into_iter().zip([3, 4]);
    pairs.fold(IoBinding::new(), |binding, ((output, input), seed)| {
        binding.with_state(output, input, content(seed))
    })
}

/// The plan of a step with so many places, of which `total` are in use after it, and the numbers of the plan's inputs
/// that are the caches.
fn plan(writer: Writer, places: u64, total: u8) -> (Plan, Vec<Slot>) {
    let model = Model::from_bytes(writer.decoder()).unwrap();
    let inputs = writer.step(1, total).with_tensor("past_k", writer.cache(places, 3));
    let program = model.bind(&inputs.with_tensor("past_v", writer.cache(places, 4))).unwrap();
    let [Step::Dispatch(dispatch), ..] = program.steps() else { panic!("{:?}", program.steps()) };
    let is_cache = |it: &Option<Binding>| {
        let initial = &program.buffers()[it.as_ref().unwrap().buffer].initial;
        matches!(initial, Initial::Input(it) if program.inputs()[*it].name.starts_with("past"))
    };
    let caches = (0..).zip(&dispatch.inputs).filter(|(_, it)| is_cache(it));
    let caches = caches.map(|(at, _)| Slot::Input(at)).collect();
    (host::plan(&program.operators()[dispatch.operator].work), caches)
}

/// The bytes that the commands of a step write, by what they write.
struct Written {
    caches: u64,
    others: u64,
}

fn written(writer: Writer, places: u64, in_place: bool) -> Written {
    let (plan, _) = plan(writer, places, 5);
    let pairs = plan.in_place.iter().filter(|it| in_place && !it.left_out().is_empty());
    let aliases = Aliases::new(pairs.map(InPlace::pair));
    assert_eq!(aliases.pairs().count(), if in_place { CACHES.len() } else { 0 }, "{writer:?}");
    let steps = plan.exec_with(&aliases).unwrap();
    // The first output is that of the attention.
    let is_cache = |slot| matches!(slot, Slot::Output(1..));
    let mut written = Written { caches: 0, others: 0 };
    for step in steps.iter() {
        let outputs = step.uses().into_iter().filter(|it| it.access != Access::Read);
        if outputs.clone().any(|it| is_cache(it.slot)) {
            written.caches += step.cost().bytes;
        } else {
            written.others += outputs.map(|it| it.range.end - it.range.start).sum::<u64>();
        }
    }
    written
}

/// The commands of a step that read each of the caches.
fn reads_of_caches(writer: Writer, places: u64, total: u8) -> Vec<usize> {
    let (plan, caches) = plan(writer, places, total);
    let reads = |slot: &Slot| {
        let reads = |it: &&dml::core::plan::Step| it.uses().iter().any(|it| it.slot == *slot);
        plan.exec.iter().filter(reads).count()
    };
    caches.iter().map(reads).collect()
}

fn check(writer: Writer, injector: &Injector, device: &Device, places: u64) {
    let session = Session::new(device, Model::from_bytes(writer.decoder()).unwrap());
    let mut caches = in_caches(writer, device, places);
    let mut states = in_states(writer, device, places);
    let mut run = |count, total| {
        let inputs = writer.step(count, total);
        let expected = session.run_bound(&mut states, &inputs).unwrap();
        let before = CACHES.map(|(_, input)| caches.input(input).unwrap().buffer().unwrap().raw());
        injector.arm(None);
        let found = session.run_bound(&mut caches, &inputs).unwrap();
        let calls: Vec<&str> = injector.calls().into_iter().map(EntryPoint::name).collect();
        assert_eq!(tensors(&found), tensors(&expected), "{writer:?}, {total} of {places}");
        for ((_, input), before) in CACHES.into_iter().zip(before) {
            let [cache, state] = [&caches, &states].map(|it| it.input(input).unwrap());
            assert_eq!(cache.read().unwrap(), state.read().unwrap(), "{input}, {total}");
            assert_eq!(cache.buffer().unwrap().raw(), before);
        }
        calls
    };
    run(3, 3);
    run(1, 4);
    for total in 5..9 {
        let calls = run(1, total);
        let is_made = |it: &&&str| MAKING.iter().any(|start| it.starts_with(start));
        let made: BTreeSet<_> = calls.iter().filter(is_made).collect();
        assert!(made.is_empty(), "{made:?}");
        assert_eq!(calls.iter().filter(|call| **call == "vkQueueSubmit").count(), 1);
    }
    assert_eq!(session.compiled_count(), 2);
    // A clone is never written.
    let held = caches.input("past_k").unwrap().clone();
    let before = held.read().unwrap();
    session.run_bound(&mut caches, &writer.step(1, 9)).unwrap();
    assert_eq!(held.read().unwrap(), before);
    assert_ne!(caches.input("past_k").unwrap().read().unwrap(), before);
}

#[test]
fn a_step_writes_its_own_rows_of_a_cache_and_makes_nothing() {
    let mut more = vec![];
    for writer in WRITERS {
        let [few, many] = [16, 512].map(|places| written(writer, places, true));
        assert_eq!(few.caches, many.caches, "{writer:?}");
        more.push(many.others - few.others);
        let copied = [16, 512].map(|places| written(writer, places, false).caches);
        assert!(copied[0] < copied[1], "{writer:?}");
        // A cache that is not in place is copied once.
        assert_eq!(reads_of_caches(writer, 16, 5), [1, 1], "{writer:?}");
    }
    // Other bytes grow like those of GroupQueryAttention: the difference is less than a key for each place.
    assert!(more.iter().all(|it| *it < more[0] + (512 - 16) * 8 * 4), "{more:?}");
    // Caches that grow are copied once, too.
    assert_eq!(reads_of_caches(Writer::GroupQueryAttention, 16, 17), [1, 1]);
    let injector = Injector::new().unwrap();
    injector.inject_everywhere();
    let instance =
        InstanceDesc { entry_points: injector.entry_points(), ..InstanceDesc::default() };
    on_every_device_as(&DeviceOptions { instance, ..options() }, |device| {
        for writer in WRITERS {
            [16, 48].into_iter().for_each(|places| check(writer, &injector, device, places));
        }
    });
}
