//! The walkthrough of docs/architecture.md shows what the layers really make of one operator.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::fmt::Write as _;
use std::path::Path;

use dml::core::host::{HostBuffer, HostMemory, interpret};
use dml::core::plan::kernel::PushField;
use dml::core::plan::{Access, Dispatch, Plan, Step, Window};
use dml::core::schema::FieldKind;
use dml::core::{Capabilities, Tuning, Validated, json, validate};
use dml::vk::{BindingTable, Bindings, CompileInput, Device, DeviceDesc, Recorder};
use dml::{
    BufferBinding, BufferDesc, BufferUsage, FeatureLevel, Instance, InstanceDesc, MemoryLocation,
};
use dml_fault::{Injector, compile, usable_devices};
use dml_ops::{Target, TransferUse};

const INPUT: [f32; 6] = [1.0, 2.0, 3.0, 0.0, 0.0, 0.0];

/// The text of the fenced block after the comment `<!-- name -->`, and where it is.
fn block(page: &str, name: &str) -> std::ops::Range<usize> {
    let comment = page.find(&format!("<!-- {name} -->")).expect(name);
    let start = comment + page[comment..].find("```").expect(name);
    let start = start + page[start..].find('\n').expect(name) + 1;
    start..start + page[start..].find("```\n").expect(name)
}

/// The operator that the page describes.
fn operator(page: &str) -> Validated {
    let descriptor = serde_json::from_str(&page[block(page, "descriptor")]).unwrap();
    validate(&json::operator(&descriptor).unwrap(), FeatureLevel::HIGHEST).unwrap()
}

fn layouts(operator: &Validated) -> String {
    let mut text = String::new();
    for kind in [FieldKind::Input, FieldKind::Output] {
        for (path, tensor) in operator.tensors(kind) {
            let Some(tensor) = tensor else { continue };
            let (data_type, sizes, strides) =
                (tensor.data_type(), tensor.sizes(), tensor.strides());
            let (elements, bytes) = (tensor.element_count(), tensor.binding_size());
            let name = path.name();
            writeln!(
                text,
                "{name}: {data_type}, sizes {sizes:?}, strides {strides:?}, {elements} elements, {bytes} bytes"
            )
            .unwrap();
        }
    }
    text
}

fn describe(dispatch: &Dispatch) -> String {
    let Dispatch { kernel, windows, push_constants, uniform, groups, .. } = dispatch;
    let module = &kernel.variant;
    let constants = module.specialization_constants.iter().zip(&kernel.specialization);
    let constants: Vec<String> =
        constants.map(|(it, value)| format!("{} = {value}", it.name)).collect();
    let window = |it: &Window| {
        let access = match it.access {
            Access::Read => "reads",
            Access::Write => "writes",
            Access::ReadWrite => "reads and writes",
        };
        format!("{access} {} {:?}", it.slot, it.range)
    };
    let uniform = uniform.iter().map(|range| format!("uniform block constants {range:?}"));
    let shown: Vec<String> = windows.iter().map(window).chain(uniform).collect();
    let field = |field: &PushField| {
        let bytes = &push_constants[field.offset as usize..][..field.size as usize];
        let words = bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().unwrap()));
        let words: Vec<String> = words.map(|word| word.to_string()).collect();
        format!("{} = {}", field.name, words.join(" "))
    };
    let fields: Vec<String> = module.push_fields.iter().map(field).collect();
    format!(
        "{}\n   {}\n   groups {groups:?}, {}, push constants: {}\n",
        module.name,
        shown.join(", "),
        constants.join(", "),
        fields.join(", ")
    )
}

fn steps(plan: &Plan) -> String {
    let mut text = format!(
        "temporary {} bytes, constants {} bytes\n",
        plan.temporary_size,
        plan.constants.len()
    );
    for (number, step) in plan.exec.iter().enumerate() {
        match step {
            Step::Dispatch(dispatch) => write!(text, "{number}: {}", describe(dispatch)).unwrap(),
            other => writeln!(text, "{number}: {other}").unwrap(),
        }
    }
    text
}

fn input_bytes() -> Vec<u8> {
    INPUT.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// The output of the host interpreter.
fn interpreted(plan: &Plan, capabilities: &Capabilities) -> Vec<u8> {
    let mut memory = HostMemory::for_plan(plan);
    let bytes = input_bytes();
    memory.inputs[0] = Some(HostBuffer { size: bytes.len() as u64, bytes, offset: 0 });
    interpret(&plan.exec, &mut memory, capabilities).unwrap();
    memory.outputs[0].take().unwrap().bytes
}

/// The Vulkan commands that recording the plan makes on a device, one line for each step, and the output.
fn executed(injector: &Injector, device: &Device, plan: &Plan) -> (String, Vec<u8>) {
    let operator =
        compile(device, CompileInput { plan: plan.clone(), storage_only: None }).unwrap();
    let buffer = |size| {
        let (usage, location) = (BufferUsage::all(), MemoryLocation::Device);
        device.create_buffer(&BufferDesc { size, usage, location, name: "tensor" })
    };
    let input = buffer(24).unwrap();
    device.write_buffer(&input, 0, &input_bytes()).unwrap();
    let output = buffer(24).unwrap();
    let temporary = (plan.temporary_size > 0).then(|| buffer(plan.temporary_size).unwrap());
    let bindings = Bindings {
        inputs: &[Some(BufferBinding::whole(&input))],
        outputs: &[Some(BufferBinding::whole(&output))],
        temporary: &temporary.iter().map(BufferBinding::whole).collect::<Vec<_>>(),
        persistent: &[],
    };
    let table = BindingTable::new(&operator, &bindings).unwrap();
    let mut recorder = Recorder::new(device).unwrap();
    injector.arm(None);
    recorder.dispatch(&table).unwrap();
    let calls = injector.calls();
    let names = calls.iter().map(|call| call.name()).filter(|name| !name.contains("Debug"));
    let mut text = String::new();
    for name in names {
        let end = if name == "vkCmdDispatch" { "\n" } else { ", " };
        text += &format!("{name}{end}");
    }
    device.submit(recorder.finish().unwrap()).unwrap().wait().unwrap();
    (text, device.read_buffer(&output, 0..24).unwrap())
}

fn numbers(bytes: &[u8]) -> String {
    let mut text = String::new();
    for row in bytes.chunks(12) {
        let words = row.chunks(4).map(|word| <[u8; 4]>::try_from(word).unwrap());
        let numbers: Vec<String> =
            words.clone().map(|word| f32::from_le_bytes(word).to_string()).collect();
        let bytes: Vec<String> = words
            .map(|word| word.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
            .collect();
        writeln!(text, "{}  as bytes {}", numbers.join(" "), bytes.join(" ")).unwrap();
    }
    text
}

/// Every fenced block of the walkthrough is recomputed; `DML_UPDATE_ARCHITECTURE=1` writes them anew.
#[test]
fn the_walkthrough_of_the_architecture_is_true() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/architecture.md");
    let page = std::fs::read_to_string(&path).unwrap().replace("\r\n", "\n");
    let operator = operator(&page);
    let capabilities = Capabilities::vulkan_minimum();
    let (tuning, transfer) = (Tuning::new(), TransferUse::Allowed);
    let target = Target { capabilities: &capabilities, tuning, transfer };
    let implementation = dml_ops::implementation(&operator).unwrap();
    let program = implementation.program(&operator, &target).unwrap();
    let plan = implementation.lower(&operator, &target).unwrap();
    let output = interpreted(&plan, &capabilities);

    let injector = Injector::new().unwrap();
    let entry_points = injector.entry_points();
    let instance =
        Instance::new(&InstanceDesc { entry_points, ..InstanceDesc::default() }).unwrap();
    let mut commands = vec![];
    for physical in usable_devices(&instance) {
        let device = Device::with_desc(&physical, &DeviceDesc::default()).unwrap();
        let (text, bytes) = executed(&injector, &device, &plan);
        assert_eq!(numbers(&bytes), numbers(&output), "{}", physical.info().name);
        commands.push(text);
    }
    commands.dedup();
    assert_eq!(commands.len(), 1, "{commands:?}");

    let mut recomputed = page.clone();
    let blocks = [
        ("layouts", layouts(&operator)),
        ("program", program.to_string()),
        ("plan", steps(&plan)),
        ("commands", commands.remove(0)),
        ("result", numbers(&output)),
    ];
    for (name, text) in &blocks {
        let range = block(&recomputed, name);
        recomputed.replace_range(range, text);
    }
    if std::env::var_os("DML_UPDATE_ARCHITECTURE").is_some() {
        std::fs::write(&path, &recomputed).unwrap();
    } else {
        assert!(page == recomputed, "run with DML_UPDATE_ARCHITECTURE=1; now {blocks:#?}");
    }
}
