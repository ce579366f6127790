//! Which nodes of an operator's program a graph can fuse with its neighbours: a Map that writes the whole output, and a
//! Reduce along one dimension.

use dml_core::{DataType, Error, TensorDesc, TensorLayout};

use crate::ir::space::{IterationSpace, Operand};
use crate::ir::{Binding, Buffer, Content, Map, Node, Program, Reduce, Stage};

/// The part of an operator that can be fused.
pub(crate) enum Fusible {
    /// The whole operator is one Map.
    ElementWise(Map),
    /// The whole operator is one Reduce: the elements of its rows can be computed in the same kernel.
    Rows(Reduce),
    /// The operator ends with a Map, its epilogue.
    Epilogue {
        /// Reads whole inputs, and the buffer that the body writes.
        map: Map,
        body: Body,
    },
}

/// An operator without its epilogue.
pub(crate) struct Body {
    /// Its only output is the buffer that the epilogue reads.
    pub(crate) program: Program,
    /// The layout of that output.
    pub(crate) tensor: TensorLayout,
}

impl Body {
    /// The Reduce, where the body is nothing else.
    pub(crate) fn rows(&self) -> Option<&Reduce> {
        match self.program.nodes.as_slice() {
            [Node::Reduce(reduce)] if is_of_rows(reduce) => Some(reduce),
            _ => None,
        }
    }
}

impl Fusible {
    /// The fusible part of an operator's program; `None` where it has none.
    ///
    /// # Errors
    /// [`Error::Internal`]: the buffer that the epilogue reads has no tensor layout.
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
                Ok(Some(Self::ElementWise(map.clone())))
            }
            (Node::Map(map), [_, ..]) if is_whole(&map.space) => {
                let body = match locals(&map.space).as_slice() {
                    [local] => body(program, *local, map)?,
                    _ => None,
                };
                Ok(body.map(|body| Self::Epilogue { map: map.clone(), body }))
            }
            _ => Ok(None),
        }
    }

    /// The Map that can be fused.
    pub(crate) fn map(&self) -> Option<&Map> {
        match self {
            Self::ElementWise(map) | Self::Epilogue { map, .. } => Some(map),
            Self::Rows(_) => None,
        }
    }

    /// The operator without its epilogue, where it has one.
    pub(crate) fn body(&self) -> Option<&Body> {
        match self {
            Self::Epilogue { body, .. } => Some(body),
            Self::ElementWise(_) | Self::Rows(_) => None,
        }
    }

    /// The Reduce that can compute the elements of its rows.
    pub(crate) fn rows(&self) -> Option<&Reduce> {
        match self {
            Self::Rows(reduce) => Some(reduce),
            Self::Epilogue { body, .. } => body.rows(),
            Self::ElementWise(_) => None,
        }
    }
}

/// Whether a Reduce goes along one dimension and reads whole inputs. Along several dimensions, the order of additions
/// depends on the strides of the first input, which fusing replaces.
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

/// Whether a space writes the output from its first element on.
fn is_written(space: &IterationSpace) -> bool {
    let output = &space.output;
    output.buffer == Some(Buffer::Output(0)) && output.base == 0 && output.displacement.is_none()
}

/// Whether a space writes the output, and reads inputs and local buffers from their first elements on.
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

/// The program without its last node, `map`, whose only local buffer is `local`; `None` where that buffer is not packed
/// words, one for each coordinate.
fn body(program: &Program, local: usize, map: &Map) -> Result<Option<Body>, Error> {
    let sizes = &map.space.sizes;
    let is_packed = |it: &Operand| it.lies_as(&it.clone().packed(sizes), sizes);
    let mut reads = map.space.inputs.iter().filter(|it| it.buffer == Some(Buffer::Local(local)));
    if !reads.all(is_packed) {
        return Ok(None);
    }
    let count: u64 = sizes.iter().map(|it| u64::from(*it)).product();
    let Content::Computed { width, count: made, stage: Stage::Execution } =
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
    let mut body = program.clone();
    body.nodes.pop();
    // They were declared for the operator's output.
    body.in_place.clear();
    body.outputs = vec![Some(Binding::of(program.field, &tensor))];
    body.locals[local].content = Content::Output { number: 0, bytes: tensor.total_size() };
    Ok(Some(Body { program: body, tensor }))
}
