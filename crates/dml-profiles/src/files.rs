//! The profile files, as part of the program: it runs without its source tree.

macro_rules! files {
    ($folder:literal, [$($name:literal),* $(,)?]) => {
        &[$(($name, include_str!(concat!("../", $folder, "/", $name, ".toml")))),*]
    };
}

/// Profiles that each go to one extreme: name and text.
pub(crate) const EXTREMES: &[(&str, &str)] = files!(
    "extremes",
    [
        "api-1-1",
        "groups-one-dimensional",
        "no-optional-features",
        "no-transfer-usage",
        "offset-alignment-256",
        "storage-range-16-kib",
    ]
);

/// Profiles of real devices: name and text.
pub(crate) const DEVICES: &[(&str, &str)] = files!(
    "devices",
    [
        "amd-radeon-pro-560-0-2-2010-osx-12-6",
        "amd-radeon-pro-vega-48-0-2-2009-osx-13-1",
        "amd-radeon-r7-200-series-2-0-179-windows-10",
        "amd-radeon-r7-370-series-2-0-179-windows-10",
        "amd-radeon-rx-570-series-radv-polaris10-26-0-6-linuxmint-22-3",
        "amd-radeon-rx-5700-2-0-353-windows-10",
        "amd-radeon-rx-5700-xt-2-0-353-windows-11",
        "amd-radeon-rx-5700-xt-radv-navi10-26-0-99-arch",
        "amd-radeon-rx-580-series-radv-polaris10-23-1-7-arch",
        "amd-radeon-rx-6600-radv-navi23-23-2-99-endeavouros",
        "amd-radeon-rx-6800-xt-2-0-283-windows-11",
        "amd-radeon-rx-7800-xt-2-0-294-windows-11",
        "amd-radeon-rx-7800-xt-radv-navi32-24-0-99-arch",
        "amd-radeon-rx-9070-xt-2-0-395-windows-10",
        "amd-radeon-rx-9070-xt-radv-gfx1201-26-1-99-cachyos",
        "amd-radeon-rx-vega-64-0-2-1911-osx-10-15",
        "amd-radv-bonaire-aco-21-1-4-arch",
        "amd-radv-pitcairn-21-2-1-arch",
        "apple-m1-0-2-1911-osx-11-2",
        "apple-m1-0-2-2015-osx-14-3",
        "apple-m1-0-2-2209-macos-26-5-1",
        "apple-m1-26-1-99-macos-26-5-0",
        "apple-m3-max-0-2-2015-osx-14-1",
        "apple-m5-0-2-2210-macos-26-4-1",
        "apple-m5-26-0-99-macos-26-4-1",
        "intel-arc-140t-gpu-16gb-0-406-634-windows-11",
        "intel-arc-a380-graphics-0-405-161-windows-11",
        "intel-arc-a380-graphics-0-406-634-windows-10",
        "intel-arc-a380-graphics-dg2-23-0-99-ubuntu-22-04",
        "intel-arc-a380-graphics-dg2-24-0-99-opensuse-tumbleweed-20240213",
        "intel-arc-a380-graphics-dg2-26-1-3-opensuse-tumbleweed-20260618",
        "intel-arc-a750-graphics-0-405-728-windows-10",
        "intel-arc-a750-graphics-dg2-23-2-99-arch",
        "intel-arc-a770-graphics-0-405-1234-windows-11",
        "intel-arc-a770-graphics-0-406-609-windows-11",
        "intel-arc-a770-graphics-dg2-26-1-2-arch",
        "intel-arc-b580-graphics-0-406-632-windows-10",
        "intel-hd-graphics-515-0-402-1124-windows-10",
        "intel-hd-graphics-520-0-402-1274-windows-10",
        "intel-hd-graphics-520-skl-gt2-21-1-1-arch",
        "intel-hd-graphics-530-skl-gt2-21-1-99-ubuntu-21-02",
        "intel-hd-graphics-620-kbl-gt2-26-1-2-debian",
        "intel-iris-graphics-6000-0-2-1911-osx-10-15",
        "intel-iris-xe-graphics-tgl-gt2-26-1-3-void",
        "intel-uhd-graphics-620-0-404-2125-windows-10",
        "intel-uhd-graphics-620-whl-gt2-23-1-7-arch",
        "intel-uhd-graphics-630-0-2-2009-osx-13-2",
        "intel-uhd-graphics-750-0-405-2983-windows-11",
        "llvmpipe-llvm-22-1-6-256-bits-26-1-2-windows",
        "llvmpipe-llvm-22-1-6-256-bits-26-1-99-cachyos",
        "llvmpipe-llvm-22-1-7-128-bits-26-1-99-macos-26-5",
        "nvidia-geforce-gtx-1060-535-86-5-0-ubuntu-22-04",
        "nvidia-geforce-gtx-1060-537-13-0-0-windows-10",
        "nvidia-geforce-gtx-1650-610-43-2-0-ubuntu-24-04",
        "nvidia-geforce-gtx-1650-610-62-0-0-windows-10",
        "nvidia-geforce-gtx-650-ti-472-98-0-0-windows-10",
        "nvidia-geforce-gtx-650-ti-474-4-0-0-windows-10",
        "nvidia-geforce-gtx-660-470-161-3-0-ubuntu-22-04",
        "nvidia-geforce-gtx-660-470-74-0-0-arch",
        "nvidia-geforce-gtx-680mx-0-0-159-24-osx-10-15",
        "nvidia-geforce-rtx-2060-525-47-26-0-ubuntu-23-04",
        "nvidia-geforce-rtx-2060-537-59-0-0-windows-11",
        "nvidia-geforce-rtx-2070-610-43-2-0-arch",
        "nvidia-geforce-rtx-4070-551-61-0-0-windows-11",
        "nvidia-geforce-rtx-5080-610-62-0-0-windows-11",
        "nvidia-geforce-rtx-5090-610-43-2-0-freebsd-15-1",
        "nvidia-quadro-k4200-0-0-157-53-osx-10-15",
        "radeon-rx-580-series-2-0-258-windows-10",
    ]
);
