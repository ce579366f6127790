//! Inputs that are OWNED_BY_DML: initialization copies them, padding included, into the persistent
//! resource, and executions read them there.

use dml_core::plan::{Copy, CopyRegion, Slot, Step};
use dml_core::{Error, TensorFlags, TensorLayout};
use dml_spirv::ElementWidth;
use rustc_hash::FxHashMap;

use crate::ir::Computation;
use crate::ir::space::{IterationSpace, Operand, leading};
use crate::schedule::constants::Constants;
use crate::schedule::map;
use crate::schedule::resource::Resource;
use crate::{Target, TransferUse};

/// The copies of owned inputs that initialization makes.
#[derive(Default)]
pub(crate) struct OwnedCopies {
    /// The steps of initialization.
    pub(crate) init: Vec<Step>,
    /// The persistent resource.
    pub(crate) resource: Resource,
    /// The byte offset of each copied input in the persistent resource.
    inputs: FxHashMap<u32, u64>,
}

impl OwnedCopies {
    /// The slot that executions read an input from, and the byte offset in it: its own slot, or the copy in
    /// the persistent resource. The copy is made once, however often this is called.
    ///
    /// # Errors
    /// [`Error::DeviceLimit`]: the device cannot execute the copy.
    pub(crate) fn source(
        &mut self,
        (operator, field): (&'static str, &'static str),
        input: u32,
        tensor: &TensorLayout,
        target: &Target<'_>,
        constants: &mut Constants,
    ) -> Result<(Slot, u64), Error> {
        let slot = Slot::Input(input);
        if !tensor.flags().contains(TensorFlags::OWNED_BY_DML) {
            return Ok((slot, 0));
        }
        if let Some(start) = self.inputs.get(&input) {
            return Ok((Slot::Persistent, *start));
        }
        let bytes = tensor.minimum_size();
        let start = self.resource.add(bytes, target.max_buffer());
        self.inputs.insert(input, start);
        self.init.extend(match target.transfer {
            TransferUse::Allowed => vec![Step::Copy(Copy {
                source: slot,
                destination: Slot::Persistent,
                regions: vec![CopyRegion::once(0, start, bytes)],
            })],
            TransferUse::StorageOnly => {
                let space = words(slot, start, bytes, tensor.data_type().bits());
                let copy = Computation::copy();
                map::steps(operator, field, space, &copy, target, constants)?
            }
        });
        Ok((Slot::Persistent, start))
    }
}

/// The words of an input, and those from `start` on in the persistent resource. Elements of two words are
/// copied whole, so that there are less than 2^32.
fn words(input: Slot, start: u64, bytes: u64, element_bits: u32) -> IterationSpace<Slot> {
    let width = if element_bits == 64 { ElementWidth::B64 } else { ElementWidth::B32 };
    let unit = u64::from(width.bytes());
    let operand = |slot, start: u64| Operand {
        strides: leading(&[1], 0).map(i64::from),
        ..Operand::at(slot, width, (start / unit).cast_signed())
    };
    let count = u32::try_from(bytes / unit).expect("no more than the tensor's span");
    IterationSpace {
        sizes: leading(&[count], 1),
        inputs: vec![operand(input, 0)],
        output: operand(Slot::Persistent, start),
    }
}
