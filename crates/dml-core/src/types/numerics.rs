//! Whether results are the same bits on every device.

use super::named_enum::named_enum;

named_enum! {
    /// Whether results may differ between devices in exchange for speed. Chosen at the creation of a device; the
    /// default is [`Numerics::Exact`].
    ///
    /// With either value a device gives the same bits from run to run: a plan follows from the operator, the
    /// device and these choices, and its kernels sum in a fixed order.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    Numerics called "numerics", as str::to_owned,
    /// Its name on command lines, in options and in reports.
    name;
    /// Every product is rounded before it is added, so that all devices give the same bits.
    #[default]
    Exact, "exact";
    /// In kernels with sums of FLOAT32 products (matrix multiplication, convolution, attention, recurrent
    /// networks) the driver may fuse a multiplication and the following addition. Sums may differ between
    /// devices by the rounding of the products. All other results are those of
    /// [`Numerics::Exact`].
    Fast, "fast";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exact_is_the_default_and_names_are_read_back() {
        assert_eq!(Numerics::default(), Numerics::Exact);
        for numerics in Numerics::ALL {
            assert_eq!(numerics.to_string().parse(), Ok(numerics));
        }
        let error = "fats".parse::<Numerics>().unwrap_err().to_string();
        assert_eq!(error, "unknown numerics 'fats' (did you mean fast?); accepted: exact, fast");
    }
}
