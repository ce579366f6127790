//! The runtime owns everything: open a device, compile, execute, read back.
//!
//! ```console
//! $ cargo run -p dml --example owning
//! ```
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::error::Error;

use dml::{
    BufferBinding, DataType, Device, DeviceOptions, DeviceSelector, DiagonalMatrixDesc,
    FeatureLevel, TensorDesc,
};

fn main() -> Result<(), Box<dyn Error>> {
    println!("{:?}", run(&DeviceSelector::Best)?);
    Ok(())
}

/// Makes a 3x4 matrix with sevens right above the main diagonal.
pub(crate) fn run(selector: &DeviceSelector) -> Result<Vec<i64>, Box<dyn Error>> {
    let device = Device::open_with(&DeviceOptions {
        // INT64 needs this level; at a lower one, compiling fails with an error that says so.
        feature_level: FeatureLevel::V5_1,
        selector: selector.clone(),
        ..DeviceOptions::default()
    })?;
    let tensor = TensorDesc::packed(DataType::Int64, &[3, 4]);
    let operator = device.compile(DiagonalMatrixDesc {
        output_tensor: tensor.clone(),
        offset: 1,
        value: 7.0,
    })?;
    let buffer = device.create_buffer(operator.output_size(0))?;
    device.execute(&operator, &[], &[Some(BufferBinding::whole(&buffer))])?;
    Ok(device.read(&buffer, 0, &tensor)?)
}
