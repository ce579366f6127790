//! What of an operator can be fused with its neighbours: a Map that writes all of its one output, and a Reduce whose
//! rows are read as they are.

use dml_core::{DataType, Error, TensorDesc, TensorLayout};

use crate::ir::space::{IterationSpace, Operand};
use crate::ir::{Binding, Buffer, Content, Map, Node, Program, Reduce, Stage};

/// What can be fused of an operator.
pub(crate) enum Fusible {
    /// All of it is computed element by element.
    Whole(Map),
    /// All of it is rows, whose elements may be computed on the way.
    Rows(Reduce),
    /// Its last node is computed element by element, and reads what is computed before.
    Last {
        /// It reads inputs, each whole, and the one buffer that `before` writes.
        map: Map,
        before: Before,
    },
}

/// What an operator computes before its last node.
pub(crate) struct Before {
    /// Its only output is what the last node reads.
    pub(crate) program: Program,
    /// That output.
    pub(crate) tensor: TensorLayout,
}

impl Before {
    /// The rows that it is, where it is nothing else.
    pub(crate) fn rows(&self) -> Option<&Reduce> {
        match self.program.nodes.as_slice() {
            [Node::Reduce(reduce)] if is_of_rows(reduce) => Some(reduce),
            _ => None,
        }
    }
}

impl Fusible {
    /// That of an operator, where there is one.
    ///
    /// # Errors
    /// [`Error::Internal`]: no tensor is as large as the buffer that the last node reads.
    pub(crate) fn of(program: &Program) -> Result<Option<Self>, Error> {
        let Some((last, others)) = program.nodes.split_last() else { return Ok(None) };
        if program.outputs.len() != 1 || others.iter().any(|it| it.writes(Buffer::Output(0))) {
            return Ok(None);
        }
        match (last, others) {
            (Node::Reduce(reduce), []) if is_of_rows(reduce) && is_written(&reduce.space) => {
                Ok(Some(Self::Rows(reduce.clone())))
            }
            (Node::Map(map), []) if is_whole(&map.space) && locals(&map.space).is_empty() => {
                Ok(Some(Self::Whole(map.clone())))
            }
            (Node::Map(map), [_, ..]) if is_whole(&map.space) => {
                let before = match locals(&map.space).as_slice() {
                    [local] => before(program, *local, map)?,
                    _ => None,
                };
                Ok(before.map(|before| Self::Last { map: map.clone(), before }))
            }
            _ => Ok(None),
        }
    }

    /// What is computed element by element.
    pub(crate) fn map(&self) -> Option<&Map> {
        match self {
            Self::Whole(map) | Self::Last { map, .. } => Some(map),
            Self::Rows(_) => None,
        }
    }

    /// What is computed before the last node.
    pub(crate) fn before(&self) -> Option<&Before> {
        match self {
            Self::Last { before, .. } => Some(before),
            Self::Whole(_) | Self::Rows(_) => None,
        }
    }

    /// The rows that are reduced, of which elements may be computed on the way.
    pub(crate) fn rows(&self) -> Option<&Reduce> {
        match self {
            Self::Rows(reduce) => Some(reduce),
            Self::Last { before, .. } => before.rows(),
            Self::Whole(_) => None,
        }
    }
}

/// Whether rows of one dimension are reduced, of elements of inputs that lie where the tensors begin. In which order
/// several dimensions are added up depends on how the first input lies, which fusing changes.
fn is_of_rows(reduce: &Reduce) -> bool {
    let Reduce { space, grids, .. } = reduce;
    let is_row = |(size, stride): &(&u32, &i64)| **size > 1 && **stride == 0;
    let of_rows = space.sizes.iter().zip(&space.output.strides).filter(is_row).count();
    grids.is_none() && of_rows == 1 && reads_whole_inputs(space)
}

fn reads_whole_inputs(space: &IterationSpace) -> bool {
    space.inputs.iter().all(|it| {
        matches!((it.buffer, it.base, it.displacement), (Some(Buffer::Input(_)), 0, None))
    })
}

/// Whether a space writes the output, from where it begins.
fn is_written(space: &IterationSpace) -> bool {
    let output = &space.output;
    output.buffer == Some(Buffer::Output(0)) && output.base == 0 && output.displacement.is_none()
}

/// Whether a space writes the output, of elements of inputs and locals that lie where these begin.
fn is_whole(space: &IterationSpace) -> bool {
    let is_read = |it: &Operand| match it.buffer {
        Some(Buffer::Input(_) | Buffer::Local(_)) => it.base == 0 && it.displacement.is_none(),
        Some(Buffer::Output(_)) | None => false,
    };
    is_written(space) && space.inputs.iter().all(is_read)
}

/// The local buffers that a space reads, once for each operand.
fn locals(space: &IterationSpace) -> Vec<usize> {
    let local = |it: &Operand| match it.buffer {
        Some(Buffer::Local(at)) => Some(at),
        _ => None,
    };
    space.inputs.iter().filter_map(local).collect()
}

/// All of a program but its last node, which reads `local`, where that is all that the last node needs of it.
fn before(program: &Program, local: usize, map: &Map) -> Result<Option<Before>, Error> {
    let sizes = &map.space.sizes;
    let is_packed = |it: &Operand| it.lies_as(&it.clone().packed(sizes), sizes);
    let mut reads = map.space.inputs.iter().filter(|it| it.buffer == Some(Buffer::Local(local)));
    if !reads.all(is_packed) {
        return Ok(None);
    }
    let count: u64 = sizes.iter().map(|it| u64::from(*it)).product();
    let Content::Made { width, count: made, stage: Stage::Execution } =
        program.locals[local].content
    else {
        return Ok(None);
    };
    if made != count || width.bits() != 32 {
        return Ok(None);
    }
    let desc = TensorDesc::packed(DataType::Uint32, sizes);
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
