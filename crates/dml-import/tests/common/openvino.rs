//! Writes OpenVINO IR with one Eye.

use std::path::Path;

/// An input of Eye.
pub(crate) struct EyeInput {
    /// OpenVINO's name of the type.
    pub(crate) element: String,
    /// As the file writes it: `1`, `?`, or nothing for a scalar.
    pub(crate) shape: &'static str,
    /// The values of a Const; `None` makes it a Parameter.
    pub(crate) values: Option<Vec<i64>>,
}

impl EyeInput {
    pub(crate) fn parameter(element: &str, shape: &'static str) -> Self {
        Self { element: element.to_owned(), shape, values: None }
    }
}

/// The .xml file and the .bin file.
pub(crate) fn eye(output_type: &str, operands: &[EyeInput]) -> (String, Vec<u8>) {
    let (mut layers, mut edges, mut ports) = (String::new(), String::new(), String::new());
    let mut weights = Vec::new();
    for (index, operand) in operands.iter().enumerate() {
        let EyeInput { element, shape, values } = operand;
        let (kind, data) = match values {
            None => ("Parameter", String::new()),
            Some(values) => {
                let width = if element == "i32" { 4 } else { 8 };
                let offset = weights.len();
                values
                    .iter()
                    .for_each(|value| weights.extend_from_slice(&value.to_le_bytes()[..width]));
                let size = weights.len() - offset;
                ("Const", format!(" offset=\"{offset}\" size=\"{size}\""))
            }
        };
        let names = ["rows", "cols", "k", "batch"];
        let name = names[index];
        layers += &format!(
            "<layer id=\"{index}\" name=\"{name}\" type=\"{kind}\" version=\"opset1\">\
             <data element_type=\"{element}\" shape=\"{shape}\"{data}/>\
             <output><port id=\"0\"/></output></layer>"
        );
        // As in the specification's example, the output's port has the number of an input's.
        ports += &format!("<port id=\"{index}\"/>");
        edges += &format!(
            "<edge from-layer=\"{index}\" from-port=\"0\" to-layer=\"10\" to-port=\"{index}\"/>"
        );
    }
    let xml = format!(
        "<?xml version=\"1.0\"?><net name=\"eye\" version=\"11\"><layers>{layers}\
         <layer id=\"10\" name=\"eye\" type=\"Eye\" version=\"opset9\">\
         <data output_type=\"{output_type}\"/><input>{ports}</input>\
         <output><port id=\"3\" names=\"y\"/></output></layer>\
         <layer id=\"11\" name=\"result\" type=\"Result\" version=\"opset1\">\
         <input><port id=\"0\"/></input></layer></layers><edges>{edges}\
         <edge from-layer=\"10\" from-port=\"3\" to-layer=\"11\" to-port=\"0\"/></edges></net>"
    );
    (xml, weights)
}

/// Writes both files and gives the path of the first.
pub(crate) fn write(folder: &Path, (xml, weights): (String, Vec<u8>)) -> std::path::PathBuf {
    let path = folder.join("model.xml");
    std::fs::write(&path, xml).unwrap();
    std::fs::write(folder.join("model.bin"), weights).unwrap();
    path
}
