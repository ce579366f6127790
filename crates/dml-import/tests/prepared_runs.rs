//! Runs whose outputs are placed when their program is known, as another runtime does that has its own tensors.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod common;

use common::cached::{cache, decoder, step};
use common::device::on_every_device;
use common::recurrent::{initial, recurrent, round_trips, rows};
use common::{f32s, name, tensors};
use dml_import::program::{Destination, Step};
use dml_import::{DeviceTensor, ElementType, Error, Inputs, IoBinding, Model, Program, Session};

fn outputs(program: &Program) -> Vec<&str> {
    program
        .steps()
        .iter()
        .filter_map(|step| match step {
            Step::Read(read) => match &read.destination {
                Destination::Output(name) => Some(name.as_str()),
                _ => None,
            },
            _ => None,
        })
        .collect()
}

#[test]
fn outputs_are_placed_when_the_program_is_known() {
    on_every_device(|device| {
        let session = Session::new(device, Model::from_bytes(recurrent()).unwrap());
        let given = rows(2, 1);
        let [expected] = &round_trips(&session, std::slice::from_ref(&given))[..] else { panic!() };
        let mut binding = IoBinding::new();
        let [h, seen] = initial();
        let inputs = Inputs::new().with_tensor("x", given).with_tensor("h", h);
        let inputs = inputs.with_tensor("seen", seen);
        for kept in [&["next"][..], &["y", "seen_next"], &[]] {
            let found = session.run_bound_with(&mut binding, &inputs, |program, binding| {
                assert!(!program.asks_device());
                assert_eq!(outputs(program), ["y", "next", "seen_next"]);
                binding.set_outputs(kept.iter().copied());
                Ok(())
            });
            let found = found.unwrap();
            let mut returned = found.iter().map(|it| (name(it), it.tensor.clone()));
            for (name, expected) in ["y", "next", "seen_next"].into_iter().zip(expected) {
                let tensor = match binding.output(name) {
                    Some(tensor) => tensor.read().unwrap(),
                    None => returned.find(|(it, _)| *it == name).unwrap().1,
                };
                assert_eq!(
                    (kept.contains(&name), tensor),
                    (binding.output(name).is_some(), expected.clone())
                );
            }
        }
    });
}

#[test]
fn a_preparation_may_refuse_the_run() {
    on_every_device(|device| {
        let session = Session::new(device, Model::from_bytes(recurrent()).unwrap());
        let [h, seen] = initial();
        let inputs = Inputs::new().with_tensor("x", rows(1, 1)).with_tensor("h", h);
        let refused = Err(Error::Malformed("no room".to_owned()));
        let mut refused = Some(refused);
        let found = session.run_bound_with(
            &mut IoBinding::new(),
            &inputs.with_tensor("seen", seen),
            |_, _| refused.take().unwrap(),
        );
        assert_eq!(found.unwrap_err().to_string(), "no room");
    });
}

#[test]
fn an_input_may_be_made_a_cache_for_one_run() {
    on_every_device(|device| {
        let session = Session::new(device, Model::from_bytes(decoder()).unwrap());
        let inputs = step(3, 3);
        let [k, v] = [3, 4].map(|seed| cache(8, seed));
        let on_host =
            inputs.clone().with_tensor("past_k", k.clone()).with_tensor("past_v", v.clone());
        let expected = tensors(&session.run(&on_host).unwrap());
        let mut binding = IoBinding::new();
        binding.set_input("past_k", DeviceTensor::new(device, &k).unwrap());
        binding.set_input("past_v", DeviceTensor::new(device, &v).unwrap());
        let before = binding.input("past_k").unwrap().buffer().unwrap().raw();
        let found = session.run_bound_with(&mut binding, &inputs, |_, binding| {
            binding.set_outputs(["present_k", "present_v"]);
            binding.set_cache("present_k", "past_k");
            binding.set_cache("present_v", "past_v");
            Ok(())
        });
        assert_eq!(tensors(&found.unwrap()), expected[..1]);
        let present = binding.output("present_k").unwrap().clone();
        assert_eq!(present.buffer().unwrap().raw(), before);
        assert_eq!(present.read().unwrap(), expected[1]);
        binding.clear_inputs();
        assert!(binding.input("past_k").is_none());
        binding.keep_recordings(0);
        assert_eq!(tensors(&session.run_bound(&mut binding, &on_host).unwrap()), expected[..1]);
        // The tensor that is held is as it was.
        assert_eq!(present.read().unwrap(), expected[1]);
        assert_eq!(binding.output("present_v").unwrap().read().unwrap(), expected[2]);
    });
}

#[test]
fn a_tensor_is_seen_as_another_of_as_many_bytes() {
    on_every_device(|device| {
        let tensor = DeviceTensor::new(device, &f32s(&[2, 2], &[1.0, 2.0, 3.0, 4.0])).unwrap();
        assert!(tensor.is_on(device));
        let seen = tensor.reinterpreted(ElementType::INT32, &[4]).unwrap();
        assert_eq!(seen.read().unwrap().bytes(), tensor.read().unwrap().bytes());
        let mut bytes = [0; 16];
        seen.read_into(&mut bytes).unwrap();
        assert_eq!(bytes, *tensor.read().unwrap().into_bytes());
        let error = tensor.reinterpreted(ElementType::INT64, &[4]).unwrap_err().to_string();
        let message = "float32 [2, 2] cannot be seen as int64 [4]: the number of bytes differs";
        assert_eq!(error, message);
        let error = tensor.read_into(&mut bytes[1..]).unwrap_err().to_string();
        assert_eq!(error, "a place of 15 bytes is given for 16 bytes");
    });
}
