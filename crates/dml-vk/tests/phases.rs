//! What is bound at initialization and at execution, and what executing in place means.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::kernels::{copy, plan, ramp, requirement, sum};
use common::{buffer, compile, each_device, part, run, words};
use dml_core::plan::{BoundAt, InPlace, Plan, Slot};
use dml_vk::{BindingTable, Bindings, BufferBinding, CompiledOperator, Phase, Recorder, Result};

const OUT: Slot = Slot::Output(0);
const IN: Slot = Slot::Input(0);

#[track_caller]
fn refused(result: Result<BindingTable>, message: &str) {
    assert_eq!(result.unwrap_err().to_string(), message);
}

/// Output = input, but for its first 16 words.
fn in_place() -> Plan {
    let band = vec![ramp(OUT, 0..64, 7)];
    Plan {
        inputs: vec![requirement("InputTensor", 256)],
        in_place: Some(InPlace { input: 0, output: 0, exec: band.clone() }),
        ..plan(256, [vec![copy((IN, 0), (OUT, 0), 256)], band].concat())
    }
}

type List<'a> = &'a [Option<BufferBinding<'a>>];

fn bindings<'a>(
    inputs: List<'a>,
    outputs: List<'a>,
    persistent: Option<BufferBinding<'a>>,
) -> Bindings<'a> {
    Bindings { inputs, outputs, temporary: None, persistent }
}

fn bind(
    compiled: &CompiledOperator,
    input: Option<BufferBinding<'_>>,
    output: Option<BufferBinding<'_>>,
) -> Result<BindingTable> {
    let bindings = Bindings { inputs: &[input], outputs: &[output], ..Bindings::default() };
    BindingTable::new(compiled, &bindings)
}

#[test]
fn in_place_the_same_bytes_are_there_as_apart() {
    each_device(|device| {
        let compiled = compile(device, in_place());
        assert_eq!(compiled.in_place(), Some((0, 0)));
        let (a, b) = (buffer(device, 1024), buffer(device, 1024));
        for output in [&a, &b] {
            device.write_buffer(&a, 0, &[9; 1024]).unwrap();
            device.write_buffer(&b, 0, &[1; 1024]).unwrap();
            let table = bind(&compiled, part(&a, 272, 256), part(output, 272, 256)).unwrap();
            run(device, |recorder| recorder.dispatch(&table));
            let found = words(&device.read_buffer(output, 272..272 + 256).unwrap());
            let expected: Vec<u32> = (7..7 + 16).chain([0x0909_0909; 48]).collect();
            assert_eq!(found, expected);
        }
    });
}

#[test]
fn only_exactly_the_same_range_is_in_place() {
    each_device(|device| {
        let compiled = compile(device, in_place());
        let a = buffer(device, 1024);
        let input = part(&a, 256, 260);
        bind(&compiled, input, part(&a, 256, 260)).unwrap();
        for (offset, size) in [(256, 256), (240, 260), (272, 260), (0, 1024)] {
            let problem = format!("bytes {offset}..{} overlap InputTensor", offset + size);
            refused(
                bind(&compiled, input, part(&a, offset, size)),
                &format!(
                    "TEST: OutputTensor: {problem} (bytes 256..516) in the same buffer (accepted: a \
                     range that shares no byte with another binding, or exactly that of InputTensor)"
                ),
            );
        }
        let never = compile(device, Plan { in_place: None, ..in_place() });
        refused(
            bind(&never, part(&a, 0, 256), part(&a, 0, 256)),
            "TEST: OutputTensor: bytes 0..256 overlap InputTensor (bytes 0..256) in the same buffer \
             (accepted: a range that shares no byte with another binding)",
        );
    });
}

/// Output = an input of which initialization keeps a copy.
fn owned() -> Plan {
    let mut input = requirement("InputTensor", 256);
    input.as_mut().unwrap().bound_at = BoundAt::Initialization;
    Plan {
        inputs: vec![input],
        init: vec![copy((IN, 0), (Slot::Persistent, 0), 256)],
        persistent_size: 256,
        ..plan(256, vec![ramp(OUT, 0..256, 1), sum((OUT, 0..256), (Slot::Persistent, 0..256))])
    }
}

#[test]
fn an_owned_input_is_bound_at_initialization_only() {
    each_device(|device| {
        let compiled = compile(device, owned());
        assert!(compiled.needs_initialization());
        let [input, output, kept] = [(); 3].map(|()| buffer(device, 256));
        let [input, output, kept] = [&input, &output, &kept].map(|it| part(it, 0, 256));

        let initialize =
            BindingTable::for_initialization(&compiled, &bindings(&[input], &[], kept)).unwrap();
        let execute = BindingTable::new(&compiled, &bindings(&[None], &[output], kept)).unwrap();
        assert_eq!((initialize.phase(), execute.phase()), (Phase::Initialize, Phase::Execute));
        device.write_buffer(input.unwrap().buffer, 0, &[2, 0, 0, 0].repeat(64)).unwrap();
        run(device, |recorder| recorder.initialize(&initialize));
        // Nothing of it is needed any more.
        device.write_buffer(input.unwrap().buffer, 0, &[0xff; 256]).unwrap();
        run(device, |recorder| recorder.dispatch(&execute));
        let found = words(&device.read_buffer(output.unwrap().buffer, 0..256).unwrap());
        assert_eq!(found, (3..3 + 64).collect::<Vec<_>>());

        refused(
            BindingTable::new(&compiled, &bindings(&[input], &[output], kept)),
            "TEST: InputTensor: a buffer is bound, but the tensor is OWNED_BY_DML \
             (accepted: no binding at execution; it is bound at initialization)",
        );
        for (inputs, problem) in [
            (
                &[None][..],
                "InputTensor: nothing is bound (accepted: a buffer range of at least 256 bytes)",
            ),
            (&[], "inputs: 0 bindings given (accepted: 1 bindings)"),
        ] {
            let table = BindingTable::for_initialization(&compiled, &bindings(inputs, &[], kept));
            refused(table, &format!("TEST: {problem}"));
        }
    });
}

#[test]
fn other_tensors_are_bound_at_execution_only() {
    each_device(|device| {
        let plan = Plan { inputs: vec![requirement("InputTensor", 256)], ..plan(256, vec![]) };
        let compiled = compile(device, plan);
        assert!(!compiled.needs_initialization());
        let buffer = buffer(device, 256);
        let whole = part(&buffer, 0, 256);
        let table = |bindings: Bindings<'_>| BindingTable::for_initialization(&compiled, &bindings);
        let bound = "a buffer is bound, but the tensor is not OWNED_BY_DML \
                     (accepted: no binding at initialization; it is bound at execution)";
        refused(table(bindings(&[whole], &[], None)), &format!("TEST: InputTensor: {bound}"));
        refused(table(bindings(&[None], &[whole], None)), &format!("TEST: OutputTensor: {bound}"));
        let empty = table(bindings(&[], &[None], None)).unwrap();
        run(device, |recorder| recorder.initialize(&empty));
    });
}

#[test]
fn a_table_is_recorded_for_what_it_was_made_for() {
    each_device(|device| {
        let compiled = compile(device, plan(256, vec![]));
        let buffer = buffer(device, 256);
        let outputs = [part(&buffer, 0, 256)];
        let bindings = Bindings { outputs: &outputs, ..Bindings::default() };
        let execute = BindingTable::new(&compiled, &bindings).unwrap();
        let initialize = BindingTable::for_initialization(&compiled, &Bindings::default()).unwrap();
        let mut recorder = Recorder::new(device).unwrap();
        let error = recorder.initialize(&execute).unwrap_err();
        assert!(error.to_string().contains("made for executions"), "{error}");
        let error = recorder.dispatch(&initialize).unwrap_err();
        assert!(error.is_invalid() && error.to_string().contains("made for initialization"));
    });
}
