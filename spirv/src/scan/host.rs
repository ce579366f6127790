//! `kernels/scan.comp` on the host.

use dml_core::host::{HostDispatch, HostError};

use super::record::Block;
use super::{ELEMENTS, Scan};
use crate::element_wise::{OUTPUT_BINDING, PushConstants};
use crate::reduce::State;
use crate::twins::dispatch::for_each_group_below;

/// Runs the kernel for every work group of a dispatch.
pub(super) fn run(kernel: Scan, dispatch: &mut HostDispatch<'_>) -> Result<(), HostError> {
    let block = Block::of(|index| dispatch.uniform_word(index));
    let push = PushConstants::of(dispatch);
    let memory = Memory { kernel, bases: push.base_words, starts: block.starts() };
    for_each_group_below(dispatch, push.first_group, push.count, |dispatch, group| {
        let part = block.part(group);
        let mut states: Vec<Option<State>> = Vec::new();
        for place in 0..ELEMENTS {
            let element = block.element(&part, place);
            states.push(element.map(|element| memory.load(dispatch, element)).transpose()?);
        }
        let mut distance = 1;
        while distance < block.end_of_distances() {
            let joined = |place: u32| {
                let state = states[place as usize]?;
                let before = block.before(&part, place, distance);
                let before = before.and_then(|it| states[it as usize]);
                Some(before.map_or(state, |before| kernel.reducer.join(before, state)))
            };
            states = (0..ELEMENTS).map(joined).collect();
            distance *= 2;
        }
        for (place, state) in (0..ELEMENTS).zip(&states).filter(|it| block.is_written(it.0)) {
            if let (Some(element), Some(state)) = (block.element(&part, place), state) {
                memory.store(dispatch, element, *state)?;
            }
        }
        Ok(())
    })
}

impl Scan {
    /// The place of a binding among those of the kernel.
    fn descriptor(self, binding: u32) -> usize {
        let all = self.bindings();
        all.iter().position(|it| it.binding == binding).expect("a binding of the kernel")
    }
}

/// Where states are.
struct Memory {
    kernel: Scan,
    bases: [u32; 8],
    starts: [u32; 4],
}

const STARTS_AT: [(u32, usize); 4] =
    [(0, 0), (1, 1), (super::RESTS_BINDING, 2), (OUTPUT_BINDING, 3)];

impl Memory {
    /// The word of an element that has so many, of a binding.
    fn word(&self, binding: u32, element: u32, words: u32) -> u32 {
        let (_, start) = STARTS_AT.into_iter().find(|it| it.0 == binding).expect("one of four");
        let element = self.starts[start].wrapping_add(element);
        self.bases[binding as usize].wrapping_add(element.wrapping_mul(words))
    }

    fn load(&self, dispatch: &mut HostDispatch<'_>, element: u32) -> Result<State, HostError> {
        let mut word = |binding, at| dispatch.load(self.kernel.descriptor(binding), at);
        if self.kernel.reducer.is_wide() {
            let at = self.word(0, element, 2);
            let [low, high] = [word(0, at)?, word(0, at.wrapping_add(1))?].map(u64::from);
            return Ok([low | high << 32, 0]);
        }
        let number = word(0, self.word(0, element, 1))?;
        let rest = match self.kernel.is_of_pairs() && !self.kernel.begins {
            true => word(1, self.word(1, element, 1))?,
            false => 0,
        };
        Ok([number, rest].map(u64::from))
    }

    #[expect(clippy::cast_possible_truncation, reason = "the words of a number")]
    fn store(
        &self,
        dispatch: &mut HostDispatch<'_>,
        element: u32,
        state: State,
    ) -> Result<(), HostError> {
        let output = OUTPUT_BINDING;
        let mut store = |binding, at, word: u64| {
            dispatch.store(self.kernel.descriptor(binding), at, word as u32)
        };
        if self.kernel.reducer.is_wide() {
            let at = self.word(output, element, 2);
            store(output, at, state[0])?;
            return store(output, at.wrapping_add(1), state[0] >> 32);
        }
        if self.kernel.is_of_pairs() {
            let binding = super::RESTS_BINDING;
            store(binding, self.word(binding, element, 1), state[1])?;
        }
        store(output, self.word(output, element, 1), state[0])
    }
}
