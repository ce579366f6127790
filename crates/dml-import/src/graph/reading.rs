//! Device values that the host has to know: data-dependent sizes and conditions.
//!
//! Each node asks its questions one after the other. An evaluation uses the answers that the device gave
//! before; a node without an answer to its next question has no outputs, and neither have the nodes that depend
//! on it. The device then computes the questions. Every later run computes all of them again, so that an answer
//! that has changed is noticed, and the graph is evaluated once more.

use std::cell::{Cell, Ref, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use crate::error::NodeName;
use crate::graph::value::Value;
use crate::tensor::Tensor;

/// Identifies a question: the model's node, and how many questions it asked before. A node's next question
/// depends on its own earlier answers, not on answers to unrelated nodes.
pub(crate) type Key = (Option<usize>, usize);

/// The known device values.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answers {
    pub(crate) known: HashMap<Key, Tensor>,
    /// How many more unknown loop conditions are assumed to hold; otherwise a loop of many iterations would be
    /// evaluated again for each of them.
    pub(crate) guesses: usize,
}

/// A device value that an evaluation asked for.
#[derive(Clone, Debug)]
pub(crate) struct Question {
    pub(crate) key: Key,
    /// The node that asked.
    pub(crate) node: Arc<NodeName>,
    pub(crate) value: Value,
    /// `None` if the node could not continue.
    pub(crate) answer: Option<Tensor>,
}

/// How many questions an evaluation has asked, and how many guesses are left.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QuestionCount {
    questions: usize,
    guesses: usize,
}

/// The questions of an evaluation; each follows those that it depends on.
#[derive(Debug)]
pub(crate) struct Reading {
    known: HashMap<Key, Tensor>,
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

    /// The questions and guesses so far.
    pub(crate) fn asked(&self) -> QuestionCount {
        QuestionCount { questions: self.questions.borrow().len(), guesses: self.guesses.get() }
    }

    /// Whether a question has no answer that was asked since `before`.
    pub(crate) fn waits_since(&self, before: QuestionCount) -> bool {
        self.questions.borrow()[before.questions..].iter().any(|it| it.answer.is_none())
    }

    /// Forgets the questions that were asked since `before`, and takes back the guesses.
    pub(crate) fn forget_since(&self, before: QuestionCount) {
        self.questions.borrow_mut().truncate(before.questions);
        self.guesses.set(before.guesses);
    }

    /// The answer for the model's node with this name and index, or `guess` if guesses are left.
    pub(crate) fn ask(
        &self,
        (name, index): (&Arc<NodeName>, Option<usize>),
        value: &Value,
        guess: Option<Tensor>,
    ) -> Option<Tensor> {
        let mut questions = self.questions.borrow_mut();
        let mut before = questions.iter().filter(|question| question.key.0 == index);
        if before.clone().any(|it| it.answer.is_none()) {
            return None;
        }
        let key = (index, before.by_ref().count());
        let answer = match self.known.get(&key) {
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
        let (node, value) = (Arc::clone(name), value.clone());
        questions.push(Question { key, node, value, answer: answer.clone() });
        answer
    }
}
