//! The bindings of initialization and of execution, and execution in place.
#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a test fails by panicking")]

mod common;

use common::kernels::{copy, fill, plan, ramp, requirement, sum};
use common::{
    buffer, buffer_with, compile, counts, each_device, each_injected_device, part, run,
    try_compile_both, words,
};
use dml_core::plan::{BoundAt, InPlace, Plan, Slot};
use dml_vk::{
    BindingTable, Bindings, BufferBinding, BufferUsage, CompileInput, CompiledOperator, Error,
    MemoryLocation, Phase, Recorder, Result,
};

const OUT: Slot = Slot::Output(0);
const IN: Slot = Slot::Input(0);

#[track_caller]
fn refused(result: Result<BindingTable>, message: &str) {
    assert_eq!(result.unwrap_err().to_string(), message);
}

/// Output = input, except for its first 16 words.
fn in_place() -> Plan {
    let band = vec![ramp(OUT, 0..64, 7)];
    Plan {
        inputs: vec![requirement("InputTensor", 256)],
        in_place: vec![InPlace::by_own_steps(0, 0, band.clone())],
        ..plan(256, [vec![copy((IN, 0), (OUT, 0), 256)], band].concat())
    }
}

type List<'a> = &'a [Option<BufferBinding<'a>>];

fn bindings<'a>(
    inputs: List<'a>,
    outputs: List<'a>,
    persistent: &'a [BufferBinding<'a>],
) -> Bindings<'a> {
    Bindings { inputs, outputs, temporary: &[], persistent }
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
        assert_eq!(compiled.in_place(), in_place().in_place);
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
        let never = compile(device, Plan { in_place: vec![], ..in_place() });
        refused(
            bind(&never, part(&a, 0, 256), part(&a, 0, 256)),
            "TEST: OutputTensor: bytes 0..256 overlap InputTensor (bytes 0..256) in the same buffer \
             (accepted: a range that shares no byte with another binding)",
        );
    });
}

/// Two inputs that may be bound to the output by the same steps, and one that may not: the second half of the
/// output is the first half of A, which the first step overwrites if A is bound to the output.
fn by_same_steps() -> Plan {
    let exec =
        vec![ramp(OUT, 0..128, 7), fill(OUT, 128..256, 1), sum((OUT, 128..256), (IN, 0..128))];
    Plan {
        inputs: ["ATensor", "BTensor", "MaskTensor"].map(|it| requirement(it, 256)).into(),
        in_place: vec![InPlace::by_same_steps(0, 0), InPlace::by_same_steps(1, 0)],
        ..plan(256, exec)
    }
}

fn bind_three(
    compiled: &CompiledOperator,
    inputs: [Option<BufferBinding<'_>>; 3],
    output: Option<BufferBinding<'_>>,
) -> Result<BindingTable> {
    let bindings = Bindings { inputs: &inputs, outputs: &[output], ..Bindings::default() };
    BindingTable::new(compiled, &bindings)
}

#[test]
fn by_the_same_steps_any_of_the_inputs_become_the_output() {
    each_device(|device| {
        let compiled = compile(device, by_same_steps());
        let buffers = [(); 3].map(|()| buffer(device, 512));
        let masks = buffer(device, 256);
        for [a, b, output] in [[0, 1, 2], [0, 1, 0], [0, 1, 1], [0, 0, 0], [0, 0, 2]] {
            for buffer in &buffers {
                device.write_buffer(buffer, 0, &[9, 0, 0, 0].repeat(128)).unwrap();
            }
            let [a_part, b_part, out] = [a, b, output].map(|it| part(&buffers[it], 16, 256));
            let mask = part(&masks, 0, 256);
            let table = bind_three(&compiled, [a_part, b_part, mask], out).unwrap();
            run(device, |recorder| recorder.dispatch(&table));
            let found = words(&device.read_buffer(&buffers[output], 16..272).unwrap());
            let second = |at: u32| 1 + if a == output { 7 + at } else { 9 };
            let expected: Vec<u32> = (7..7 + 32).chain((0..32).map(second)).collect();
            assert_eq!(found, expected, "{a} {b} {output}");
        }
    });
}

#[test]
fn what_reads_an_input_that_is_the_output_waits_for_what_wrote_it() {
    each_injected_device(|injector, device| {
        let exec = vec![ramp(OUT, 0..1024, 7), sum((OUT, 4096..5120), (IN, 0..1024))];
        let plan = Plan {
            inputs: vec![requirement("ATensor", 8192)],
            in_place: vec![InPlace::by_same_steps(0, 0)],
            ..plan(8192, exec)
        };
        let compiled = compile(device, plan);
        let buffers = [(); 2].map(|()| buffer(device, 8192));
        let [a, b] = buffers.each_ref().map(|it| part(it, 0, 8192));
        for (input, output, barriers) in [(a, b, 0), (a, a, 1)] {
            let table = bind(&compiled, input, output).unwrap();
            let mut recorder = Recorder::new(device).unwrap();
            let before = counts(injector, ["vkCmdPipelineBarrier"]);
            recorder.dispatch(&table).unwrap();
            let after = counts(injector, ["vkCmdPipelineBarrier"]);
            assert_eq!(after[0] - before[0], barriers);
        }
    });
}

#[test]
fn what_is_not_allowed_in_place_is_refused_with_what_is() {
    let accepted = "in the same buffer (accepted: a range that shares no byte with another binding, or \
                    exactly that of ATensor or BTensor)";
    each_device(|device| {
        let compiled = compile(device, by_same_steps());
        let [one, other] = [(); 2].map(|()| buffer(device, 1024));
        let at = |offset| part(&one, offset, 256);
        let apart = |offset| part(&other, offset, 256);
        // A pair that is not listed, alone and beside one that is.
        for inputs in [[apart(0), apart(256), at(0)], [at(0), apart(256), at(0)]] {
            let problem = "bytes 0..256 overlap MaskTensor (bytes 0..256)";
            let message = format!("TEST: OutputTensor: {problem} {accepted}");
            refused(bind_three(&compiled, inputs, at(0)), &message);
        }
        // One input that is bound to the output's range, and one to nearly that range.
        for (inputs, field) in
            [([at(0), at(16), apart(0)], "BTensor"), ([at(16), at(0), apart(0)], "ATensor")]
        {
            let problem = format!("bytes 0..256 overlap {field} (bytes 16..272)");
            let message = format!("TEST: OutputTensor: {problem} {accepted}");
            refused(bind_three(&compiled, inputs, at(0)), &message);
        }
    });
}

#[test]
fn a_pair_with_steps_of_its_own_is_bound_alone() {
    each_device(|device| {
        let in_place = vec![
            InPlace::by_own_steps(0, 0, vec![ramp(OUT, 128..256, 3)]),
            InPlace::by_same_steps(1, 0),
        ];
        let compiled = compile(device, Plan { in_place, ..by_same_steps() });
        let [one, other] = [(); 2].map(|()| buffer(device, 1024));
        let (both, apart) = (part(&one, 0, 256), part(&other, 0, 256));
        device.write_buffer(&one, 0, &[9, 0, 0, 0].repeat(256)).unwrap();
        let table = bind_three(&compiled, [both, apart, apart], both).unwrap();
        run(device, |recorder| recorder.dispatch(&table));
        let found = words(&device.read_buffer(&one, 0..256).unwrap());
        assert_eq!(found, [[9; 32].to_vec(), (3..3 + 32).collect()].concat());
        bind_three(&compiled, [apart, both, apart], both).unwrap();
        refused(
            bind_three(&compiled, [both, both, apart], both),
            "TEST: OutputTensor: bytes 0..256 overlap BTensor (bytes 0..256) in the same buffer \
             (accepted: a range that shares no byte with another binding, or exactly that of ATensor \
             or BTensor alone)",
        );
    });
}

#[test]
fn both_plans_of_an_operator_allow_the_same_in_place() {
    each_device(|device| {
        let dispatches = || Plan { exec: vec![ramp(OUT, 0..256, 1)], ..by_same_steps() };
        let storage = buffer_with(device, 256, BufferUsage::STORAGE, MemoryLocation::Readback);
        let both = |storage_only: Plan| {
            let plan = Plan { exec: vec![fill(OUT, 0..256, 1)], ..by_same_steps() };
            let storage_only = Some(storage_only.into());
            let compiled = try_compile_both(device, CompileInput { plan, storage_only })?;
            let inputs = [(); 3].map(|()| buffer(device, 256));
            let inputs = [0, 1, 2].map(|index| part(&inputs[index], 0, 256));
            bind_three(&compiled, inputs, part(&storage, 0, 256)).map(|_| ())
        };
        both(dispatches()).unwrap();
        let by_same = InPlace::by_same_steps(0, 0);
        let others =
            [vec![], vec![by_same.clone()], vec![by_same, InPlace::by_own_steps(1, 0, vec![])]];
        for in_place in others {
            let error = both(Plan { in_place, ..dispatches() }).unwrap_err();
            assert!(matches!(error, Error::Internal { .. }), "{error:?}");
        }
    });
}

/// Output = an input that initialization copies.
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
        let kept = kept.as_slice();

        let initialize =
            BindingTable::for_initialization(&compiled, &bindings(&[input], &[], kept)).unwrap();
        let execute = BindingTable::new(&compiled, &bindings(&[None], &[output], kept)).unwrap();
        assert_eq!((initialize.phase(), execute.phase()), (Phase::Initialize, Phase::Execute));
        device.write_buffer(input.unwrap().buffer, 0, &[2, 0, 0, 0].repeat(64)).unwrap();
        run(device, |recorder| recorder.initialize(&initialize));
        // The input's buffer is not needed any more.
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
        refused(table(bindings(&[whole], &[], &[])), &format!("TEST: InputTensor: {bound}"));
        refused(table(bindings(&[None], &[whole], &[])), &format!("TEST: OutputTensor: {bound}"));
        let empty = table(bindings(&[], &[None], &[])).unwrap();
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
