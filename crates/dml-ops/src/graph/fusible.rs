//! What of an operator can be fused with its neighbours: a Map that writes all of its one output.

use dml_core::{DataType, Error, TensorDesc, TensorLayout};

use crate::ir::{Binding, Buffer, Content, Map, Node, Program, Stage};

/// The last node of an operator, which is computed element by element.
pub(crate) struct Fusible {
    /// It reads inputs, each whole, and perhaps the one buffer that `before` writes.
    pub(crate) map: Map,
    /// What is computed before, where there is more.
    pub(crate) before: Option<Before>,
}

/// What an operator computes before its last node.
pub(crate) struct Before {
    /// Its only output is what the last node reads.
    pub(crate) program: Program,
    /// That output.
    pub(crate) tensor: TensorLayout,
}

impl Fusible {
    /// That of an operator, where there is one.
    ///
    /// # Errors
    /// [`Error::Internal`]: no tensor is as large as the buffer that the last node reads.
    pub(crate) fn of(program: &Program) -> Result<Option<Self>, Error> {
        let Some((Node::Map(map), others)) = program.nodes.split_last() else { return Ok(None) };
        let writes_before = others.iter().any(|it| it.writes(Buffer::Output(0)));
        if program.outputs.len() != 1 || writes_before || !is_element_wise(map) {
            return Ok(None);
        }
        let locals = map.space.inputs.iter().filter_map(|it| match it.buffer {
            Some(Buffer::Local(at)) => Some((at, it)),
            _ => None,
        });
        let map = map.clone();
        match (others, locals.collect::<Vec<_>>().as_slice()) {
            ([], []) => Ok(Some(Self { map, before: None })),
            ([_, ..], [(local, operand)]) => {
                let is_whole =
                    operand.lies_as(&(*operand).clone().packed(&map.space.sizes), &map.space.sizes);
                let before = if is_whole { before(program, *local, &map)? } else { None };
                Ok(before.map(|before| Self { map: map.clone(), before: Some(before) }))
            }
            _ => Ok(None),
        }
    }
}

/// Whether a map writes all elements of the output, of elements of inputs that lie where the tensors begin.
fn is_element_wise(map: &Map) -> bool {
    let space = &map.space;
    let mut stored = space.operands().map(|it| (it.buffer, it.base, it.displacement));
    let is_output = space.output.buffer == Some(Buffer::Output(0));
    let mut inputs = space.inputs.iter();
    is_output
        && inputs.all(|it| it.buffer != space.output.buffer)
        && stored.all(|it| matches!(it, (Some(_), 0, None)))
}

/// All of a program but its last node, which reads `local`, where that is all that the last node needs of it.
fn before(program: &Program, local: usize, map: &Map) -> Result<Option<Before>, Error> {
    let count: u64 = map.space.sizes.iter().map(|it| u64::from(*it)).product();
    let Content::Made { width, count: made, stage: Stage::Execution } =
        program.locals[local].content
    else {
        return Ok(None);
    };
    if made != count || width.bits() != 32 {
        return Ok(None);
    }
    let desc = TensorDesc::packed(DataType::Uint32, &map.space.sizes);
    let tensor = TensorLayout::new(&desc)
        .map_err(|error| Error::internal(program.operator, format!("what is fused: {error:?}")))?;
    let mut before = program.clone();
    before.nodes.pop();
    // That was said of the output itself.
    before.in_place.clear();
    before.outputs = vec![Some(Binding::of(program.field, &tensor))];
    before.locals[local].content = Content::Output { number: 0, bytes: tensor.total_size() };
    Ok(Some(Before { program: before, tensor }))
}
