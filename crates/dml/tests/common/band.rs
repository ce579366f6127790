//! Bands of a value on an input or on zeros, executed between guards and compared byte by byte.

use dml::{
    Buffer, BufferBinding, BufferDesc, BufferUsage, DataType, Device, DiagonalMatrix1Desc,
    MemoryLocation, ScalarUnion, TensorDesc, TensorFlags, TensorLayout,
};
use dml_reference::{Output, Tensor, elements_in};

pub(crate) const TYPES: [DataType; 4] =
    [DataType::Uint8, DataType::Float16, DataType::Float32, DataType::Int64];
/// Eight bytes, all different.
pub(crate) const VALUE: u64 = 0xf1e2_d3c4_b5a6_9788;
/// The offset of outputs in bytes, which is not a valid offset of a descriptor.
const MOVED: u64 = 48;

/// A value in a band around an input of its own layout, or around zeros.
pub(crate) struct Case {
    pub(crate) input: Option<TensorDesc>,
    pub(crate) output: TensorDesc,
    pub(crate) band: (i32, i32),
    pub(crate) usage: BufferUsage,
    pub(crate) in_place: bool,
}

impl Case {
    pub(crate) fn new(input: Option<TensorDesc>, output: TensorDesc, band: (i32, i32)) -> Self {
        Self { input, output, band, usage: BufferUsage::all(), in_place: false }
    }

    pub(crate) fn is_owned(&self) -> bool {
        self.input.as_ref().is_some_and(|input| input.flags == TensorFlags::OWNED_BY_DML)
    }

    pub(crate) fn desc(&self) -> DiagonalMatrix1Desc {
        DiagonalMatrix1Desc {
            input_tensor: self.input.clone(),
            output_tensor: self.output.clone(),
            value_data_type: self.output.data_type,
            value: ScalarUnion::from_bits(VALUE),
            diagonal_fill_begin: self.band.0,
            diagonal_fill_end: self.band.1,
        }
    }

    pub(crate) fn buffer(&self, device: &Device, bytes: &[u8]) -> Buffer {
        let all = self.usage == BufferUsage::all();
        let location = if all { MemoryLocation::Device } else { MemoryLocation::Readback };
        let size = bytes.len() as u64;
        let desc = BufferDesc { size, usage: self.usage, location, name: "test" };
        let buffer = device.vulkan().create_buffer(&desc).unwrap();
        device.vulkan().write_buffer(&buffer, 0, bytes).unwrap();
        buffer
    }

    pub(crate) fn check(&self, device: &Device) {
        let operator = device.compile(self.desc()).unwrap();
        let input_bytes = pseudo_random(operator.input_size(0));
        let expected = self.expected(operator.output_size(0), &input_bytes);
        let output = self.buffer(device, &expected.tensor.before);
        let guarded = Tensor::guarded(16, &input_bytes);
        let input = self.input.as_ref().map(|_| self.buffer(device, &guarded.before));
        let bind = |buffer, tensor: &Tensor| {
            Some(BufferBinding { buffer, offset: tensor.offset, size: tensor.size })
        };
        let at_output = bind(&output, &expected.tensor);
        let at_input = match &input {
            Some(_) if self.in_place => at_output,
            Some(input) => bind(input, &guarded),
            None => None,
        };
        if self.is_owned() {
            device.initialize(&operator, &[at_input]).unwrap();
            device.execute(&operator, &[None], &[at_output]).unwrap();
        } else {
            device.execute(&operator, &[at_input], &[at_output]).unwrap();
        }
        let found = device.vulkan().read_buffer(&output, 0..output.size()).unwrap();
        expected
            .check(&found)
            .unwrap_or_else(|difference| panic!("{:?}: {difference}", self.desc()));
    }

    /// An output of `size` bytes: its buffer, in place with the input's bytes, and its elements.
    pub(crate) fn expected(&self, size: u64, input: &[u8]) -> Output {
        let layout = TensorLayout::new(&self.output).unwrap();
        let from = self.input.as_ref().map(|input| TensorLayout::new(input).unwrap());
        let mut from = from.iter().flat_map(|layout| elements_in(layout, input));
        let [.., height, width] = self.output.sizes[..] else { panic!("a matrix") };
        let (begin, end) = self.band;
        let mut element = |index: u32| {
            let t = (index % width).cast_signed() - (index / width % height).cast_signed();
            let is_value = if begin <= end { begin <= t && t < end } else { t < end || t >= begin };
            let elsewhere = from.next().unwrap_or(0);
            if is_value { VALUE } else { elsewhere }
        };
        let elements = (0..u32::try_from(layout.element_count()).unwrap()).map(&mut element);
        let elements = elements.collect();
        let tensor = match self.in_place {
            true => Tensor::guarded(MOVED, input),
            false => Tensor::unwritten(MOVED, size),
        };
        Output::exact(tensor, layout, elements)
    }
}

pub(crate) fn pseudo_random(size: u64) -> Vec<u8> {
    (0..size).map(|at| (at.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56).to_le_bytes()[0]).collect()
}

/// Runs all checks with one layout.
pub(crate) fn cases(output: &TensorDesc) -> Vec<Case> {
    let case = |input: Option<&TensorDesc>, band| Case::new(input.cloned(), output.clone(), band);
    let storage_only = |case| Case { usage: BufferUsage::STORAGE, ..case };
    let owned = TensorDesc { flags: TensorFlags::OWNED_BY_DML, ..output.clone() };
    let packed = TensorDesc::packed(output.data_type, &output.sizes);
    let last = output.sizes[2];
    let broadcast = packed.clone().with_strides(&[0, 1, 0]);
    vec![
        case(None, (1, 2)),
        case(None, (-3, 40)),
        storage_only(case(None, (2, -1))),
        case(Some(output), (2, -1)),
        case(Some(&packed), (0, 1)),
        case(Some(&broadcast), (-1, i32::try_from(last).unwrap())),
        storage_only(case(Some(&packed), (i32::MIN, 1))),
        Case { in_place: true, ..case(Some(output), (2, -2)) },
        storage_only(Case { in_place: true, ..case(Some(output), (-2, 1)) }),
        case(Some(&owned), (2, -1)),
        storage_only(case(Some(&owned), (0, 3))),
    ]
}
