//! `dml diag`: one DIAGONAL_MATRIX from the command line.

use std::io::{self, Write as _};
use std::path::PathBuf;

use dml::{BufferBinding, DataType, Device, DiagonalMatrixDesc, TensorDesc};

use crate::{DeviceArgs, matrix, npy};

/// The arguments of `dml diag`.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Sizes of the output, outermost first, such as 1,1,3,3
    #[arg(long, value_name = "N,..", value_delimiter = ',', required = true)]
    sizes: Vec<u32>,
    /// Which diagonal: positive is right and up, negative left and down
    #[arg(long, value_name = "N", default_value_t = 0, allow_negative_numbers = true)]
    offset: i32,
    /// What is written along the diagonal
    #[arg(long, value_name = "V", default_value_t = 1.0, allow_negative_numbers = true)]
    value: f32,
    /// The data type of the output, under DirectML's name
    #[arg(long = "type", value_name = "T", default_value = "float32")]
    data_type: DataType,
    /// Strides of the output in elements; packed if not given
    #[arg(long, value_name = "N,..", value_delimiter = ',')]
    strides: Option<Vec<u32>>,
    #[command(flatten)]
    device: DeviceArgs,
    /// Also write the result to this .npy file
    #[arg(long, value_name = "F.npy")]
    output: Option<PathBuf>,
}

/// Executes the operator, prints the result, and writes it where asked.
pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let mut tensor = TensorDesc::packed(args.data_type, &args.sizes);
    tensor.strides.clone_from(&args.strides);
    let bytes = args.device.with_device(|device| execute(device, &tensor, args))?;
    if let Some(path) = &args.output {
        npy::write(path, args.data_type, &args.sizes, &bytes)?;
    }
    writeln!(io::stdout(), "{}", matrix::format(args.data_type, &args.sizes, &bytes))?;
    Ok(())
}

fn execute(device: &Device, tensor: &TensorDesc, args: &Args) -> anyhow::Result<Vec<u8>> {
    let operator = device.compile(DiagonalMatrixDesc {
        output_tensor: tensor.clone(),
        offset: args.offset,
        value: args.value,
    })?;
    let buffer = device.create_buffer(operator.output_size(0))?;
    device.execute(&operator, &[], &[Some(BufferBinding::whole(&buffer))])?;
    Ok(device.read_packed(&buffer, 0, tensor)?)
}
