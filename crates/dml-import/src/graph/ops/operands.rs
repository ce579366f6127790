//! The inputs of a node, and checks that operations make of them.

use std::cell::Cell;

use dml_core::AbstractOperator;

use crate::element::ElementType;
use crate::error::{Error, NodeName, Result};
use crate::graph::device::{DeviceNodes, Owner};
use crate::graph::dml;
use crate::graph::ops::Demand;
use crate::graph::ops::scalar::Scalar;
use crate::graph::value::{Content, Kind, Storage, Value};
use crate::limits;
use crate::tensor::{Tensor, element_count, text};

/// The inputs of one node; `None` where one is left out.
pub(crate) struct NodeInputs<'a> {
    pub(crate) node: &'a NodeName,
    pub(crate) values: Vec<Option<&'a Value>>,
    /// How many elements the host may still read and write.
    pub(crate) budget: &'a Budget,
    /// The device operators added so far.
    pub(crate) device: &'a DeviceNodes,
    /// The model's node that device operators are added for.
    pub(crate) owner: &'a Owner,
    /// Whether the host needs the outputs.
    pub(crate) demand: Demand,
}

/// Where a node's outputs are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ComputeLocation {
    Host,
    Device,
}

/// The remaining part of [`limits::HOST_WORK`] and [`limits::LOOP_VALUES`].
pub(crate) struct Budget {
    elements: Cell<u64>,
    values: Cell<u64>,
    /// Whether the host reads the caller's floats only where shapes depend on them.
    spares_floats: bool,
}

impl Default for Budget {
    fn default() -> Self {
        let (elements, values) = (Cell::new(limits::HOST_WORK), Cell::new(limits::LOOP_VALUES));
        Self { elements, values, spares_floats: false }
    }
}

impl Budget {
    /// A budget for an evaluation in which the host reads the caller's floats only where shapes depend on them.
    pub(crate) fn sparing_floats() -> Self {
        Self { spares_floats: true, ..Self::default() }
    }

    /// Whether the caller's floats are read only where shapes depend on them.
    pub(crate) fn spares_floats(&self) -> bool {
        self.spares_floats
    }

    /// Takes the elements of a tensor of `shape` from it.
    pub(crate) fn take(&self, shape: &[u64]) -> Result<()> {
        let rest = element_count(shape).and_then(|count| self.elements.get().checked_sub(count));
        let too_much = || {
            let limit = limits::HOST_WORK;
            Error::malformed(format!("computes more on the host than {limit} elements"))
        };
        self.elements.set(rest.ok_or_else(too_much)?);
        Ok(())
    }

    /// Takes `count` values of an iteration of `node`, a loop, from the budget.
    pub(crate) fn take_values(&self, node: &NodeName, count: u64) -> Result<()> {
        self.has_values(node, count)?;
        self.values.set(self.values.get() - count);
        Ok(())
    }

    /// Checks that `count` values can be taken.
    pub(crate) fn has_values(&self, node: &NodeName, count: u64) -> Result<()> {
        if count <= self.values.get() {
            return Ok(());
        }
        let limit = limits::LOOP_VALUES;
        Err(node.not_supported(format!(
            "loops are unrolled, and all of their iterations together have more than {limit} values"
        )))
    }
}

/// Whether DirectML has operators for a node's operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Present,
    Absent,
    /// DirectML has none, but the host may compute the outputs even from the caller's values.
    Replaceable,
}

impl<'a> NodeInputs<'a> {
    /// Where outputs of this many elements are computed. Weights are processed on the host unless the outputs
    /// are large; the caller's values only if shapes depend on them, or if `operator` is replaceable.
    pub(crate) fn place(&self, elements: Option<u64>, operator: Operator) -> ComputeLocation {
        let (mut is_given, mut has_floats) = (false, false);
        for value in self.values.iter().flatten() {
            match value.view().map(|view| &view.storage) {
                None => {}
                Some(Storage::Device { .. }) => return ComputeLocation::Device,
                Some(Storage::Input(_)) => {
                    is_given = true;
                    has_floats |= value.element.is_some_and(|element| !element.is_integer());
                }
                Some(Storage::Tensor(_) | Storage::Constant(_)) => {}
            }
        }
        let within = |limit| elements.is_some_and(|element| element <= limit);
        let is_spared = has_floats && self.budget.spares_floats;
        let is_host = self.demand == Demand::Needed && !(is_spared && self.device.is_read())
            || self.demand == Demand::Wanted && !is_spared
            || match operator {
                Operator::Present => !is_given && within(limits::HOST_FOLD),
                Operator::Absent => !is_given && within(limits::HOST_ELEMENTS),
                Operator::Replaceable => within(limits::HOST_ELEMENTS),
            };
        if is_host { ComputeLocation::Host } else { ComputeLocation::Device }
    }

    /// Adds the operator that `build` makes, which reads `inputs` and writes one output.
    pub(crate) fn write(
        &self,
        inputs: Vec<Option<Storage>>,
        output: Kind,
        build: impl FnOnce() -> Result<AbstractOperator>,
    ) -> Value {
        self.write_all(inputs, vec![output], build).remove(0)
    }

    /// Adds an operator like [`write`](Self::write), with several outputs.
    pub(crate) fn write_all(
        &self,
        inputs: Vec<Option<Storage>>,
        outputs: Vec<Kind>,
        build: impl FnOnce() -> Result<AbstractOperator>,
    ) -> Vec<Value> {
        self.device.add(self.owner, inputs, outputs, build)
    }

    /// The value with packed elements in memory, copied if necessary.
    pub(crate) fn materialized(&self, value: &Value) -> Result<Value> {
        dml::materialized(self.device, self.owner, value)
    }

    /// The value with another shape of as many elements, copied if strides cannot express it.
    pub(crate) fn reshaped(&self, value: &Value, shape: &[u64]) -> Result<Value> {
        if let Some(reshaped) = value.reshaped(shape) {
            return Ok(reshaped);
        }
        let only = NodeInputs { values: vec![Some(value)], ..*self };
        let packed = match only.place(element_count(shape), Operator::Present) {
            ComputeLocation::Host => Value::host(self.read(value)?),
            ComputeLocation::Device => self.materialized(value)?,
        };
        packed
            .reshaped(shape)
            .ok_or_else(|| self.node.not_supported("packed elements have no such shape"))
    }

    /// The input with this index, which the operator calls `name`; an error if it is left out.
    pub(crate) fn value(&self, index: usize, name: &str) -> Result<&'a Value> {
        self.optional(index)
            .ok_or_else(|| self.node.invalid(name, "nothing", "is given", "a value"))
    }

    /// The input with this index; `None` if it is left out, or an optional value without an element.
    pub(crate) fn optional(&self, index: usize) -> Option<&'a Value> {
        let value = self.values.get(index).copied().flatten();
        value.filter(|value| !matches!(value.content, Content::Nothing))
    }

    /// The input with this index, which may be an optional value without an element.
    pub(crate) fn passed(&self, index: usize, name: &str) -> Result<&'a Value> {
        let value = self.values.get(index).copied().flatten();
        value.ok_or_else(|| self.node.invalid(name, "nothing", "is given", "a value"))
    }

    /// The shape of an input.
    pub(crate) fn shape(&self, index: usize, name: &str) -> Result<&[u64]> {
        self.value(index, name)?.shape()
    }

    /// The elements of an input.
    pub(crate) fn tensor(&self, index: usize, name: &str) -> Result<Tensor> {
        self.read(self.value(index, name)?)
    }

    /// Whether the host has to know the outputs, and cannot read device values.
    pub(crate) fn is_host_only(&self) -> bool {
        self.demand == Demand::Needed && !self.device.is_read()
    }

    /// The elements of `value` on the host.
    pub(crate) fn read(&self, value: &Value) -> Result<Tensor> {
        self.budget.take(value.shape()?)?;
        if let Some(answer) = self.device.answer(self.owner, value, None) {
            return Ok(answer);
        }
        value.tensor(self.node, |node| self.device.writer(node))
    }

    /// The only element of an input, an integer of any type, including floats with integer values.
    pub(crate) fn whole_number(&self, index: usize, name: &str) -> Result<i64> {
        let numbers = self.whole_numbers(index, name)?;
        let &[number] = numbers.as_slice() else {
            let (given, accepted) = (text(self.shape(index, name)?), "one element");
            return Err(self.node.invalid(name, given, "is the wrong shape", accepted));
        };
        Ok(number)
    }

    /// The elements of an input, integers of any type: early versions of operators have counts and axes of the
    /// data's float type.
    pub(crate) fn whole_numbers(&self, index: usize, name: &str) -> Result<Vec<i64>> {
        let value = self.value(index, name)?;
        let element = value.element()?;
        if element.is_integer() {
            return self.integers(index, name);
        }
        self.type_is(element, &ElementType::FLOATS, name)?;
        let whole = |bits| {
            let given = Scalar::new(bits, element).float();
            // Integers up to this one are exact in FLOAT64.
            let is_whole = given.fract() == 0.0 && given.abs() <= f64::from(u32::MAX);
            #[expect(clippy::cast_possible_truncation, reason = "it is a whole number of 33 bits")]
            is_whole.then_some(given as i64).ok_or_else(|| {
                self.node.invalid(
                    name,
                    given,
                    "is not a whole number",
                    format!("up to {}", u32::MAX),
                )
            })
        };
        self.read(value)?.bits().map(whole).collect()
    }

    /// The elements of an input of integers.
    pub(crate) fn integers(&self, index: usize, name: &str) -> Result<Vec<i64>> {
        let value = self.value(index, name)?;
        self.integer_type(value, name)?;
        let integers = self.read(value)?.integers();
        integers.ok_or_else(|| {
            self.node.invalid(name, "a value", "is out of range", format!("up to {}", i64::MAX))
        })
    }

    /// The only element of an input that is a scalar or has one dimension of one element.
    pub(crate) fn scalar(&self, index: usize, name: &str) -> Result<i64> {
        let shape = self.shape(index, name)?;
        if !matches!(shape, [] | [1]) {
            let problem = "is the wrong shape";
            return Err(self.node.invalid(name, text(shape), problem, "a scalar or one element"));
        }
        // The number of elements was just checked.
        Ok(self.integers(index, name)?.first().copied().unwrap_or(0))
    }

    /// The only element of an input that has one of these types.
    pub(crate) fn number(
        &self,
        index: usize,
        name: &str,
        accepted: &[ElementType],
    ) -> Result<Scalar> {
        let value = self.value(index, name)?;
        let element = value.element()?;
        self.type_is(element, accepted, name)?;
        if element_count(value.shape()?) != Some(1) {
            let given = text(value.shape()?);
            return Err(self.node.invalid(name, given, "is the wrong shape", "a scalar"));
        }
        let bits = self.read(value)?.bits().next().unwrap_or_default();
        Ok(Scalar::new(bits, element))
    }

    /// The value of a condition, which is one truth value; `None` if a device computes it.
    pub(crate) fn condition(&self, condition: &Value) -> Result<Option<bool>> {
        self.is_condition(condition)?;
        if condition.view().is_some_and(|view| view.storage.is_on_device()) {
            return Ok(None);
        }
        Ok(Some(is_true(&self.read(condition)?)))
    }

    /// The answer for a condition that a device computes, if there is one; or true, if that may be guessed.
    pub(crate) fn answered(&self, condition: &Value, is_guessed: bool) -> Result<Option<bool>> {
        let guess = || Tensor::filled(ElementType::Bool, condition.shape()?.to_vec(), 1);
        let guess = is_guessed.then(guess).transpose()?;
        Ok(self.device.answer(self.owner, condition, guess).as_ref().map(is_true))
    }

    fn is_condition(&self, condition: &Value) -> Result<()> {
        self.type_is(condition.element()?, &[ElementType::Bool], "cond")?;
        let count = element_count(condition.shape()?).unwrap_or(u64::MAX);
        if count != 1 {
            let problem = "is the wrong number of elements";
            return Err(self.node.invalid("cond", count, problem, "1"));
        }
        Ok(())
    }

    /// The elements of an input of one dimension.
    pub(crate) fn vector(&self, index: usize, name: &str) -> Result<Vec<i64>> {
        let shape = self.shape(index, name)?;
        if shape.len() > 1 {
            return Err(self.node.invalid(
                name,
                text(shape),
                "is the wrong shape",
                "one dimension",
            ));
        }
        self.integers(index, name)
    }

    /// Dimension sizes that an input holds.
    pub(crate) fn sizes(&self, index: usize, name: &str) -> Result<Vec<u64>> {
        self.vector(index, name)?.into_iter().map(|size| self.size(size, name)).collect()
    }

    /// Checks that a size is not negative.
    pub(crate) fn size(&self, size: i64, name: &str) -> Result<u64> {
        size.try_into().map_err(|_| {
            self.node.invalid(name, size, "is not a size", format!("0 to {}", i64::MAX))
        })
    }

    /// An input in another shape, which must have as many elements.
    pub(crate) fn reshaped_to(&self, value: &Value, shape: &[u64], name: &str) -> Result<Value> {
        if element_count(value.shape()?) == element_count(shape) {
            return self.reshaped(value, shape);
        }
        let (given, accepted) = (text(value.shape()?), text(shape));
        Err(self.node.invalid(name, given, "is the wrong shape", accepted))
    }

    /// Checks that an input has this shape.
    pub(crate) fn has_shape(&self, value: &Value, shape: &[u64], name: &str) -> Result<()> {
        let given = value.shape()?;
        if given == shape {
            return Ok(());
        }
        Err(self.node.invalid(name, text(given), "is the wrong shape", text(shape)))
    }

    /// Checks that an input's type is an integer.
    pub(crate) fn integer_type(&self, value: &Value, name: &str) -> Result<()> {
        let element = value.element()?;
        if element.is_integer() {
            return Ok(());
        }
        Err(self.node.invalid(name, element, "is the wrong type", "integers"))
    }

    /// Checks that `element` is one of `accepted`.
    pub(crate) fn type_is(
        &self,
        element: ElementType,
        accepted: &[ElementType],
        path: &str,
    ) -> Result<()> {
        if accepted.contains(&element) {
            return Ok(());
        }
        let names: Vec<String> = accepted.iter().map(ToString::to_string).collect();
        Err(self.node.invalid(path, element, "is the wrong type", names.join(", ")))
    }

    /// The dimension `axis`, which may be counted from the end, of `rank` dimensions.
    pub(crate) fn axis(&self, axis: i64, rank: usize, path: &str) -> Result<usize> {
        let signed = i64::try_from(rank).unwrap_or(i64::MAX);
        let from_front = if axis < 0 { axis.checked_add(signed) } else { Some(axis) };
        from_front
            .and_then(|axis| usize::try_from(axis).ok())
            .filter(|axis| *axis < rank)
            .ok_or_else(|| {
                let accepted = format!("-{rank} to {}", signed - 1);
                self.node.invalid(path, axis, "is not a dimension", accepted)
            })
    }
}

/// Whether a tensor of one truth value is true.
fn is_true(condition: &Tensor) -> bool {
    condition.integers().is_some_and(|integer| integer != [0])
}
