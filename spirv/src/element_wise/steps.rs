//! The steps of a program: functions, each applied to values. Many nodes and kernels share them.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::functions::Function;

/// A value while a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// The element of the n-th input.
    Input(usize),
    /// The result of the n-th step.
    Result(usize),
    /// The n-th parameter of the program, the same for all elements; below
    /// [`super::MAX_PARAMETERS`].
    Parameter(u32),
}

/// The arguments of a function, which take no allocation: few functions have more.
pub(super) type Arguments = SmallVec<[Value; 4]>;

/// A function, applied to values.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FunctionCall {
    /// The function.
    pub function: &'static Function,
    /// The function's arguments: first the elements that it takes, then the parameters.
    pub arguments: Arguments,
}

impl FunctionCall {
    /// A function on the first inputs and the first parameters.
    pub fn of(function: &'static Function) -> Self {
        let parameters = (0..).take(function.parameters).map(Value::Parameter);
        let arguments = (0..function.arity).map(Value::Input).chain(parameters).collect();
        Self { function, arguments }
    }
}

/// Function calls in order. A clone shares them, until one of the two is changed.
#[derive(Clone, Default)]
pub struct Steps(
    /// `None` for no steps, which most copies have: they take no allocation.
    Option<Arc<Vec<FunctionCall>>>,
);

impl Steps {
    /// The steps, to change them: shared ones are copied first.
    pub fn own(&mut self) -> &mut Vec<FunctionCall> {
        Arc::make_mut(self.0.get_or_insert_default())
    }

    /// The steps as a slice.
    pub fn as_slice(&self) -> &[FunctionCall] {
        self.0.as_deref().map_or(&[], Vec::as_slice)
    }
}

impl Deref for Steps {
    type Target = [FunctionCall];

    fn deref(&self) -> &[FunctionCall] {
        self.as_slice()
    }
}

impl FromIterator<FunctionCall> for Steps {
    fn from_iter<T: IntoIterator<Item = FunctionCall>>(steps: T) -> Self {
        let steps: Vec<FunctionCall> = steps.into_iter().collect();
        Self((!steps.is_empty()).then(|| Arc::new(steps)))
    }
}

impl<'a> IntoIterator for &'a Steps {
    type Item = &'a FunctionCall;
    type IntoIter = std::slice::Iter<'a, FunctionCall>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl PartialEq for Steps {
    fn eq(&self, other: &Self) -> bool {
        let (one, other) = (self.as_slice(), other.as_slice());
        std::ptr::eq(one, other) || one == other
    }
}

impl Eq for Steps {}

impl Hash for Steps {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_slice().hash(state);
    }
}

impl fmt::Debug for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_slice().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::functions::{ADD_F32, DIVIDE_F32};

    #[test]
    fn a_clone_is_changed_alone() {
        let first = Steps::from_iter([FunctionCall::of(&ADD_F32)]);
        let mut second = first.clone();
        assert_eq!(first.as_ptr(), second.as_ptr());
        second.own().push(FunctionCall::of(&DIVIDE_F32));
        assert_eq!((first.len(), second.len()), (1, 2));
        second.own().pop();
        assert_eq!(first, second);
    }

    #[test]
    fn no_steps_are_equal_however_they_came_about() {
        let mut emptied = Steps::from_iter([FunctionCall::of(&ADD_F32)]);
        emptied.own().clear();
        assert_eq!(emptied, Steps::default());
        assert_eq!(emptied, Steps::from_iter([]));
    }
}
