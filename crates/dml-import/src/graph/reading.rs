//! Values of a device that the host has to know: sizes that follow from elements, and conditions.
//!
//! An evaluation asks for them one after the other. It goes on with the answers that the device gave
//! before, which come in the same order, and without any that are left it stops at the next question: what
//! then runs is what computes the questions. Whatever runs computes all of them again, so that an answer
//! which is no longer true is seen, and the graph is evaluated once more from there on.

use std::cell::{Cell, Ref, RefCell};
use std::sync::Arc;

use crate::error::NodeName;
use crate::graph::value::Value;
use crate::tensor::Tensor;

/// What is known of a device's values, in the order in which an evaluation asks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answers {
    pub(crate) known: Vec<Tensor>,
    /// How many more conditions of loops are taken to hold: a loop of many iterations would be evaluated
    /// for each of them.
    pub(crate) guesses: usize,
}

/// A value that an evaluation asked for.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    /// Who asked.
    pub(crate) node: Arc<NodeName>,
    pub(crate) value: Value,
    /// `None` where the evaluation could not go on.
    pub(crate) answer: Option<Tensor>,
}

/// The questions of an evaluation.
#[derive(Debug)]
pub(crate) struct Reading {
    known: Vec<Tensor>,
    guesses: Cell<usize>,
    questions: RefCell<Vec<Question>>,
}

impl Reading {
    pub(crate) fn new(answers: Answers) -> Self {
        let Answers { known, guesses } = answers;
        Self { known, guesses: Cell::new(guesses), questions: RefCell::default() }
    }

    pub(crate) fn questions(&self) -> Ref<'_, Vec<Question>> {
        self.questions.borrow()
    }

    /// The answer for `node`, or `guess` where guesses are left. After a question without an answer there
    /// are no more: their order could be another one once it has an answer.
    pub(crate) fn ask(
        &self,
        node: &Arc<NodeName>,
        value: &Value,
        guess: Option<Tensor>,
    ) -> Option<Tensor> {
        let mut questions = self.questions.borrow_mut();
        if questions.last().is_some_and(|it| it.answer.is_none()) {
            return None;
        }
        let answer = match self.known.get(questions.len()) {
            Some(known) => Some(known.clone()),
            None if self.guesses.get() > 0 && guess.is_some() => {
                self.guesses.set(self.guesses.get() - 1);
                guess
            }
            None => None,
        };
        let fits = |it: &Tensor| {
            value.element == Some(it.element_type()) && value.shape.as_deref() == Some(it.shape())
        };
        let answer = answer.filter(fits);
        let (node, value) = (Arc::clone(node), value.clone());
        questions.push(Question { node, value, answer: answer.clone() });
        answer
    }
}
