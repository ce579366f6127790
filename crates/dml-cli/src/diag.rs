//! `dml diag`: one DIAGONAL_MATRIX, or DIAGONAL_MATRIX1 without an input, from the command line.

use std::io::Write as _;
use std::path::PathBuf;

use dml::core::Strategy;
use dml::core::value::element_bits;
use dml::{
    AbstractOperator, BufferBinding, CompiledOperator, DataType, Device, DiagonalMatrix1Desc,
    DiagonalMatrixDesc, ScalarUnion, TensorDesc,
};
use dml_file::{InputFiles, stdout};
use dml_import::{ElementType, Tensor};

use crate::{DeviceArgs, files, matrix, whole_number};

/// The arguments of `dml diag`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Sizes of the output, outermost first, such as 3,4
    #[arg(
        long,
        value_name = "N,..",
        value_delimiter = ',',
        required = true,
        value_parser = whole_number::<u32>
    )]
    sizes: Vec<u32>,
    /// Diagonal to write: 0 is the main diagonal, positive numbers lie above it, negative ones below
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        allow_negative_numbers = true,
        value_parser = whole_number::<i32>
    )]
    offset: i32,
    /// Write the diagonals BEGIN to END - 1 instead (all others if BEGIN > END), by DIAGONAL_MATRIX1
    #[arg(
        long,
        value_name = "BEGIN,END",
        value_parser = parse_band,
        conflicts_with = "offset",
        allow_hyphen_values = true
    )]
    band: Option<(i32, i32)>,
    /// Value to write
    #[arg(long, value_name = "VALUE", default_value_t = 1.0, allow_negative_numbers = true)]
    value: f32,
    /// Data type of the output, such as float32 or int8
    #[arg(long = "type", value_name = "TYPE", default_value = "float32")]
    data_type: DataType,
    /// Strides of the output in elements; packed if not given
    #[arg(long, value_name = "N,..", value_delimiter = ',', value_parser = whole_number::<u32>)]
    strides: Option<Vec<u32>>,
    /// How to write the tensor: inline, fill, fill-and-scatter, seed-and-copy, row-copies or kernel; the result
    /// is the same
    #[arg(long, value_name = "STRATEGY")]
    strategy: Option<Strategy>,
    /// Print the program and the plan before the result
    #[arg(long)]
    explain: bool,
    /// Write the result to a .npy file as well
    #[arg(long, value_name = "FILE.npy")]
    output: Option<PathBuf>,
    #[command(flatten)]
    device: DeviceArgs,
}

fn parse_band(text: &str) -> Result<(i32, i32), String> {
    let (begin, end) = text.split_once(',').ok_or("two numbers are needed, such as -1,2")?;
    Ok((whole_number(begin)?, whole_number(end)?))
}

/// Executes the operator, prints the result, and writes it to the file if one is given.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    if let Some(path) = &args.output {
        let mut read = InputFiles::new();
        args.device.profile.add_files(&mut read);
        read.check(path)?;
    }
    let mut tensor = TensorDesc::packed(args.data_type, &args.sizes);
    tensor.strides.clone_from(&args.strides);
    let (explanation, bytes) = args.device.with_device(|device| {
        let desc = desc(&tensor, args);
        let program = args.explain.then(|| device.program(desc.clone())).transpose()?;
        let operator = compile(device, desc, args)?;
        let bytes = execute(device, &operator, &tensor)?;
        let plan = operator.vulkan().plan();
        Ok((program.map(|program| format!("{program}{}", plan.describe())), bytes))
    })?;
    let shape: Vec<u64> = args.sizes.iter().copied().map(u64::from).collect();
    let tensor = Tensor::new(ElementType::Dml(args.data_type), shape, bytes)?;
    if let Some(path) = &args.output {
        files::write_npy(path, &tensor)?;
    }
    if let Some(explanation) = explanation {
        writeln!(stdout(), "{explanation}\n")?;
    }
    let text = matrix::format(args.data_type, tensor.shape(), tensor.bytes());
    writeln!(stdout(), "{text}")?;
    Ok(())
}

fn compile(
    device: &Device,
    desc: AbstractOperator,
    args: &Args,
) -> anyhow::Result<CompiledOperator> {
    let device = match args.strategy {
        Some(strategy) => device.with_tuning(device.tuning().with_strategy(strategy)),
        None => device.clone(),
    };
    Ok(device.compile(desc)?)
}

fn desc(tensor: &TensorDesc, args: &Args) -> AbstractOperator {
    let (output_tensor, value) = (tensor.clone(), args.value);
    match args.band {
        Some((begin, end)) => DiagonalMatrix1Desc {
            input_tensor: None,
            output_tensor,
            value_data_type: args.data_type,
            value: ScalarUnion::from_bits(element_bits(value, args.data_type)),
            diagonal_fill_begin: begin,
            diagonal_fill_end: end,
        }
        .into(),
        None => DiagonalMatrixDesc { output_tensor, offset: args.offset, value }.into(),
    }
}

fn execute(
    device: &Device,
    operator: &CompiledOperator,
    tensor: &TensorDesc,
) -> anyhow::Result<Vec<u8>> {
    let buffer = device.create_buffer(operator.output_size(0))?;
    // An input that is left out is bound to nothing.
    let inputs = vec![None; operator.vulkan().inputs().len()];
    device.execute(operator, &inputs, &[Some(BufferBinding::whole(&buffer))])?;
    Ok(device.read_packed(&buffer, 0, tensor)?)
}
