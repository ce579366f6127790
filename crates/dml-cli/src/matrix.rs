//! Formats tensors for people.

use dml::{DataType, Element as _, f16};

/// Tensors with more elements are elided.
const WHOLE: u64 = 1000;
/// Rows and columns kept at each edge of an elided dimension.
const EDGE: usize = 3;

/// Formats packed row-major elements in nested brackets with aligned columns, with `...` for elided
/// elements.
pub(crate) fn format(data_type: DataType, sizes: &[u64], bytes: &[u8]) -> String {
    let width = data_type.bits() as usize / 8;
    let elide = sizes.iter().product::<u64>() > WHOLE;
    // The elements are in the host's memory, so the sizes fit.
    let sizes: Vec<usize> =
        sizes.iter().map(|size| usize::try_from(*size).unwrap_or(usize::MAX)).collect();
    let mut shown = Vec::new();
    collect(&sizes, 0, elide, &mut shown);
    let texts: Vec<String> =
        shown.iter().map(|index| element(data_type, &bytes[index * width..][..width])).collect();
    let width = texts.iter().map(String::len).max().unwrap_or(0);
    let mut printer = Printer { elide, width, texts: texts.into_iter(), out: String::new() };
    printer.dimension(&sizes, 0);
    printer.out
}

/// The text of every element.
pub(crate) fn elements(data_type: DataType, bytes: &[u8]) -> Vec<String> {
    let width = data_type.bits() as usize / 8;
    bytes.chunks_exact(width).map(|chunk| element(data_type, chunk)).collect()
}

/// The positions of a dimension that are shown; `None` stands for the gap.
fn positions(size: usize, elide: bool) -> Vec<Option<usize>> {
    if !elide || size <= 2 * EDGE {
        return (0..size).map(Some).collect();
    }
    let head = (0..EDGE).map(Some);
    let tail = (size - EDGE..size).map(Some);
    head.chain([None]).chain(tail).collect()
}

fn collect(sizes: &[usize], base: usize, elide: bool, shown: &mut Vec<usize>) {
    let Some((size, inner)) = sizes.split_first() else {
        shown.push(base);
        return;
    };
    let stride: usize = inner.iter().product();
    for position in positions(*size, elide).into_iter().flatten() {
        collect(inner, base + position * stride, elide, shown);
    }
}

struct Printer {
    elide: bool,
    width: usize,
    texts: std::vec::IntoIter<String>,
    out: String,
}

impl Printer {
    fn dimension(&mut self, sizes: &[usize], depth: usize) {
        let Some((size, inner)) = sizes.split_first() else {
            let text = self.texts.next().unwrap_or_default();
            self.out.push_str(&format!("{text:>width$}", width = self.width));
            return;
        };
        self.out.push('[');
        for (index, position) in positions(*size, self.elide).into_iter().enumerate() {
            if index > 0 {
                self.separator(inner.len(), depth);
            }
            match position {
                Some(_) => self.dimension(inner, depth + 1),
                None => self.out.push_str("..."),
            }
        }
        self.out.push(']');
    }

    /// A space between elements, a new line between rows, an empty line between matrices.
    fn separator(&mut self, inner_dimensions: usize, depth: usize) {
        if inner_dimensions == 0 {
            self.out.push(' ');
            return;
        }
        self.out.push_str(&"\n".repeat(inner_dimensions));
        self.out.push_str(&" ".repeat(depth + 1));
    }
}

fn element(data_type: DataType, bytes: &[u8]) -> String {
    let mut bits = [0; 8];
    bits[..bytes.len()].copy_from_slice(bytes);
    let bits = u64::from_le_bytes(bits);
    match data_type.integer_value(bits) {
        Some(integer) => integer.to_string(),
        None if data_type == DataType::Float16 => f16::from_element_bits(bits).to_string(),
        None if data_type == DataType::Float64 => f64::from_element_bits(bits).to_string(),
        None => f32::from_element_bits(bits).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(size: u32) -> Vec<u8> {
        (0..size * size).map(|index| u8::from(index % (size + 1) == 0)).collect()
    }

    #[test]
    fn small_matrices_are_whole_and_aligned() {
        assert_eq!(
            format(DataType::Uint8, &[2, 3], &[1, 0, 0, 0, 10, 0]),
            "[[ 1  0  0]\n [ 0 10  0]]"
        );
        assert_eq!(format(DataType::Int8, &[1, 2], &[0xff, 0]), "[[-1  0]]");
        let floats = [0.5f32.to_le_bytes(), 0f32.to_le_bytes()].concat();
        assert_eq!(format(DataType::Float32, &[1, 2], &floats), "[[0.5   0]]");
    }

    #[test]
    fn batches_are_set_apart() {
        let text = format(DataType::Uint8, &[2, 1, 1, 2], &[1, 2, 3, 4]);
        assert_eq!(text, "[[[[1 2]]]\n\n\n [[[3 4]]]]");
    }

    #[test]
    fn large_matrices_are_elided() {
        let text = format(DataType::Uint8, &[100, 100], &identity(100));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 7);
        assert_eq!(lines[0], "[[1 0 0 ... 0 0 0]");
        assert_eq!(lines[3], " ...");
        assert_eq!(lines[6], " [0 0 0 ... 0 0 1]]");
    }
}
