//! Steps of recurrent networks: how many dispatches they are, and that fusing changes no bit.

use std::fmt::Write;

use dml_core::capabilities::Capabilities;
use dml_core::host::{HostMemory, interpret};
use dml_core::plan::{Plan, Step};
use dml_core::{FeatureLevel, Tuning, Validated, json, validate};
use dml_reference::Random;
use serde_json::{Value, json};

use crate::ir::optimize::optimize;
use crate::schedule::plan;
use crate::{Target, TransferUse, implementation};

/// A network and its optional parts.
#[derive(Clone, Copy, Debug)]
struct Shape {
    operator: &'static str,
    data_type: &'static str,
    steps: u32,
    sequences: u32,
    hidden: u32,
    direction: &'static str,
    has_initial_states: bool,
    has_lengths: bool,
    has_peepholes: bool,
    is_linear: bool,
    clips: bool,
}

const INPUTS: u32 = 5;

impl Shape {
    fn of(operator: &'static str) -> Self {
        Self {
            operator,
            data_type: "FLOAT32",
            steps: 3,
            sequences: 1,
            hidden: 20,
            direction: "FORWARD",
            has_initial_states: false,
            has_lengths: false,
            has_peepholes: false,
            is_linear: false,
            clips: false,
        }
    }

    fn validated(self) -> Validated {
        let Self { steps, sequences, hidden, .. } = self;
        let directions = if self.direction == "BIDIRECTIONAL" { 2 } else { 1 };
        let (gates, functions) = match self.operator {
            "LSTM" => (4, 3),
            "GRU" => (3, 2),
            _ => (1, 1),
        };
        let tensor = |sizes: [u32; 4]| json!({ "DataType": self.data_type, "Sizes": sizes });
        let states = tensor([1, directions, sequences, hidden]);
        let activations = ["SIGMOID", "TANH", "TANH"].into_iter().skip(usize::from(functions == 1));
        let activations: Vec<Value> = activations
            .take(functions)
            .map(|name| json!({ "Type": format!("ACTIVATION_{name}") }))
            .cycle()
            .take(functions * directions as usize)
            .collect();
        let mut fields = json!({
            "InputTensor": tensor([1, steps, sequences, INPUTS]),
            "WeightTensor": tensor([1, directions, gates * hidden, INPUTS]),
            "RecurrenceTensor": tensor([1, directions, gates * hidden, hidden]),
            "BiasTensor": tensor([1, 1, directions, 2 * gates * hidden]),
            "OutputSequenceTensor": tensor([steps, directions, sequences, hidden]),
            "OutputSingleTensor": states,
            "ActivationDescCount": activations.len(),
            "ActivationDescs": activations,
            "Direction": self.direction,
        });
        let is_lstm = self.operator == "LSTM";
        if self.has_initial_states {
            fields["HiddenInitTensor"] = states.clone();
        }
        if self.has_initial_states && is_lstm {
            fields["CellMemInitTensor"] = states.clone();
        }
        if is_lstm {
            fields["OutputCellSingleTensor"] = states;
            fields["ClipThreshold"] = json!(0.25);
            fields["UseClipThreshold"] = json!(self.clips);
            fields["CoupleInputForget"] = json!(false);
        }
        if self.has_peepholes {
            fields["PeepholeTensor"] = tensor([1, 1, directions, 3 * hidden]);
        }
        if self.has_lengths {
            let sizes = [1, 1, 1, sequences];
            fields["SequenceLengthsTensor"] = json!({ "DataType": "UINT32", "Sizes": sizes });
        }
        if self.operator == "GRU" {
            fields["LinearBeforeReset"] = json!(self.is_linear);
        }
        let operator = json::operator(&json!({ "type": self.operator, "desc": fields })).unwrap();
        validate(&operator, FeatureLevel::HIGHEST).unwrap()
    }

    fn plan(self, fuses: bool, target: &Target<'_>) -> Plan {
        let operator = self.validated();
        let mut program = implementation(&operator).unwrap().recorded(&operator, target).unwrap();
        optimize(&mut program, fuses, target);
        plan(&program, target).unwrap()
    }

    /// The dispatches that each step adds.
    fn dispatches_of_a_step(self, target: &Target<'_>) -> usize {
        let dispatches = |steps| {
            let plan = Self { steps, ..self }.plan(true, target);
            plan.exec.iter().filter(|it| matches!(it, Step::Dispatch(_))).count()
        };
        // As many rows of inputs as take the same kernels.
        let [few, many] = [24, 32].map(dispatches);
        assert_eq!((many - few) % 8, 0, "{self:?}");
        (many - few) / 8
    }

    /// The outputs of a plan with random inputs.
    fn outputs(self, plan: &Plan, capabilities: &Capabilities) -> Vec<Vec<u8>> {
        let mut random = Random::new("steps of recurrent networks");
        let mut memory = HostMemory::for_plan(plan);
        for (input, requirement) in memory.inputs.iter_mut().zip(&plan.inputs) {
            let (Some(input), Some(requirement)) = (input, requirement) else { continue };
            let bits = |random: &mut Random| match (&*requirement.field, self.data_type) {
                // Some sequences end early.
                ("SequenceLengthsTensor", _) => 1 + random.below(self.steps),
                (_, "FLOAT16") => random.word() & 0x83ff_83ff | 0x3400_3400,
                _ => random.word() & 0x807f_ffff | 0x3e80_0000,
            };
            for word in input.bytes.chunks_exact_mut(4) {
                word.copy_from_slice(&bits(&mut random).to_le_bytes());
            }
        }
        interpret(&plan.exec, &mut memory, capabilities).unwrap();
        memory.outputs.into_iter().flatten().map(|output| output.bytes).collect()
    }
}

/// A device that runs work groups of any size.
fn card() -> Capabilities {
    let mut card = Capabilities::vulkan_minimum();
    card.limits.max_compute_work_group_invocations = 1024;
    card.limits.max_compute_work_group_size = [1024; 3];
    card
}

/// Networks of each kind, with each part that they can have.
fn shapes() -> Vec<Shape> {
    let lstm = Shape::of("LSTM");
    let gru = Shape { is_linear: true, ..Shape::of("GRU") };
    let initial = Shape { has_initial_states: true, ..lstm };
    let mut all = vec![
        Shape::of("RNN"),
        Shape { has_lengths: true, ..Shape::of("RNN") },
        lstm,
        initial,
        Shape { has_lengths: true, ..initial },
        Shape { has_peepholes: true, ..initial },
        Shape { has_peepholes: true, has_lengths: true, ..initial },
        Shape { clips: true, has_peepholes: true, ..lstm },
        Shape { data_type: "FLOAT16", ..initial },
        Shape { data_type: "FLOAT16", has_peepholes: true, ..lstm },
        Shape { direction: "BACKWARD", has_lengths: true, ..lstm },
        gru,
        Shape { has_initial_states: true, has_lengths: true, ..gru },
        Shape { data_type: "FLOAT16", has_lengths: true, ..gru },
        Shape::of("GRU"),
        Shape { has_initial_states: true, has_lengths: true, ..Shape::of("GRU") },
    ];
    let several = all
        .clone()
        .into_iter()
        .flat_map(|it| [3, 6].map(|sequences| Shape { sequences, hidden: 12, ..it }));
    all.extend(several);
    all
}

#[test]
fn a_step_is_at_most_two_dispatches() {
    let [cpu, card] = [Capabilities::vulkan_minimum(), card()];
    let mut found = String::new();
    for shape in shapes() {
        for (capabilities, tuning) in
            [(&cpu, Tuning::new()), (&card, Tuning::new().with_shared_tiles())]
        {
            let target = Target { capabilities, tuning, transfer: TransferUse::Allowed };
            // What scales the hidden state comes between two products, which no kernel of several rows ends with.
            let most = match shape.operator {
                // Gates, peepholes, states and lengths are more inputs than one kernel has.
                "LSTM" if shape.has_peepholes && shape.has_lengths => 3,
                "GRU" if !shape.is_linear && shape.sequences > 1 => 4,
                _ => 2,
            };
            let dispatches = shape.dispatches_of_a_step(&target);
            if dispatches > most {
                writeln!(found, "{dispatches}: {shape:?}").unwrap();
            }
        }
    }
    assert!(found.is_empty(), "\n{found}");
}

#[test]
fn fused_steps_have_the_bits_of_their_nodes() {
    let card = card();
    for shape in shapes() {
        for direction in [shape.direction, "BIDIRECTIONAL"] {
            let shape = Shape { direction, ..shape };
            let outputs = |fuses, tuning: Tuning| {
                let target = Target { capabilities: &card, tuning, transfer: TransferUse::Allowed };
                shape.outputs(&shape.plan(fuses, &target), &card)
            };
            let unfused = outputs(false, Tuning::new());
            assert_ne!(unfused[0], vec![0; unfused[0].len()], "{shape:?}");
            for tuning in [Tuning::new(), Tuning::new().with_shared_tiles()] {
                assert_eq!(outputs(true, tuning), unfused, "{shape:?}");
            }
        }
    }
}
