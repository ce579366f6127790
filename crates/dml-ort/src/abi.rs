//! The used part of ONNX Runtime's C interface: tables of functions by slot, which never change, and the
//! structures that a provider fills. The names are ONNX Runtime's.
#![allow(non_snake_case, reason = "the names are ONNX Runtime's")]

use std::ffi::{c_char, c_int, c_void};

/// The interface version of the tables below. A host without this version is refused.
pub(crate) const API_VERSION: u32 = 24;

macro_rules! opaque {
    ($($name:ident)*) => {$(
        /// An object of ONNX Runtime.
        #[repr(C)]
        pub(crate) struct $name {
            _private: [u8; 0],
        }
    )*};
}

opaque! {
    OrtDataType OrtEpDevice OrtEpGraphSupportInfo OrtGraph OrtHardwareDevice OrtKernelContext
    OrtKernelDef OrtKernelDefBuilder OrtKernelInfo OrtKernelRegistry OrtKeyValuePairs OrtLogger
    OrtMemoryDevice OrtMemoryInfo OrtNode OrtNodeComputeContext OrtOpAttr OrtSessionOptions OrtStatus
    OrtSyncStream OrtTensorTypeAndShapeInfo OrtTypeInfo OrtValue OrtValueInfo
}

/// The result of a function: null is success.
pub(crate) type Status = *mut OrtStatus;

/// The first function of ONNX Runtime's table.
pub(crate) type CreateStatus = unsafe extern "C" fn(c_int, *const c_char) -> Status;

/// The first function of a table of any version, which may be shorter than [`OrtApi`].
///
/// # Safety
///
/// `table` is one of ONNX Runtime's tables of functions.
pub(crate) unsafe fn create_status(table: *const OrtApi) -> CreateStatus {
    // SAFETY: every version has this function in the first slot.
    unsafe { table.cast::<CreateStatus>().read() }
}

/// A table of functions, each with its slot.
macro_rules! table {
    ($name:ident[$length:literal] {
        $($slot:literal $function:ident($($argument:ty),*) $(-> $result:ty)?;)*
    }) => {
        /// A table of ONNX Runtime's functions.
        #[repr(C)]
        pub(crate) struct $name {
            slots: [*const c_void; $length],
        }

        impl $name {
            $(
                pub(crate) fn $function(&self) -> unsafe extern "C" fn($($argument),*) $(-> $result)? {
                    // SAFETY: the slot has a function of this type since the version that is asked for.
                    unsafe { std::mem::transmute(self.slots[$slot]) }
                }
            )*

            /// A table with only these functions.
            #[cfg(test)]
            pub(crate) fn with(functions: &[(usize, *const c_void)]) -> Self {
                let mut slots = [std::ptr::null(); $length];
                functions.iter().for_each(|(slot, function)| slots[*slot] = *function);
                Self { slots }
            }

            /// The functions and their slots.
            #[cfg(test)]
            pub(crate) const SLOTS: &[(&str, usize)] = &[$((stringify!($function), $slot)),*];
        }
    };
}

table!(OrtApi[391] {
    0 CreateStatus(c_int, *const c_char) -> Status;
    2 GetErrorMessage(*const OrtStatus) -> *const c_char;
    55 CastTypeInfoToTensorInfo(*const OrtTypeInfo, *mut *const OrtTensorTypeAndShapeInfo) -> Status;
    60 GetTensorElementType(*const OrtTensorTypeAndShapeInfo, *mut c_int) -> Status;
    61 GetDimensionsCount(*const OrtTensorTypeAndShapeInfo, *mut usize) -> Status;
    62 GetDimensions(*const OrtTensorTypeAndShapeInfo, *mut i64, usize) -> Status;
    65 GetTensorTypeAndShape(*const OrtValue, *mut *mut OrtTensorTypeAndShapeInfo) -> Status;
    90 KernelContext_GetInput(*const OrtKernelContext, usize, *mut *const OrtValue) -> Status;
    91 KernelContext_GetOutput(*mut OrtKernelContext, usize, *const i64, usize, *mut *mut OrtValue) -> Status;
    93 ReleaseStatus(Status);
    94 ReleaseMemoryInfo(*mut OrtMemoryInfo);
    96 ReleaseValue(*mut OrtValue);
    99 ReleaseTensorTypeAndShapeInfo(*mut OrtTensorTypeAndShapeInfo);
    247 Logger_LogMessage(*const OrtLogger, c_int, *const c_char, *const c_char, c_int, *const c_char) -> Status;
    272 ReadOpAttr(*const OrtOpAttr, c_int, *mut c_void, usize, *mut usize) -> Status;
    289 GetValueInfoName(*const OrtValueInfo, *mut *const c_char) -> Status;
    290 GetValueInfoTypeInfo(*const OrtValueInfo, *mut *const OrtTypeInfo) -> Status;
    295 CreateKeyValuePairs(*mut *mut OrtKeyValuePairs);
    296 AddKeyValuePair(*mut OrtKeyValuePairs, *const c_char, *const c_char);
    298 GetKeyValuePairs(*const OrtKeyValuePairs, *mut *const *const c_char, *mut *const *const c_char, *mut usize);
    300 ReleaseKeyValuePairs(*mut OrtKeyValuePairs);
    307 HardwareDevice_Type(*const OrtHardwareDevice) -> c_int;
    308 HardwareDevice_VendorId(*const OrtHardwareDevice) -> u32;
    310 HardwareDevice_DeviceId(*const OrtHardwareDevice) -> u32;
    317 GetEpApi() -> *const OrtEpApi;
    318 GetTensorSizeInBytes(*const OrtValue, *mut usize) -> Status;
    320 CreateMemoryInfo_V2(*const c_char, c_int, u32, i32, c_int, usize, c_int, *mut *mut OrtMemoryInfo) -> Status;
    326 ValueInfo_GetInitializerValue(*const OrtValueInfo, *mut *const OrtValue) -> Status;
    331 ValueInfo_IsConstantInitializer(*const OrtValueInfo, *mut bool) -> Status;
    336 Graph_GetNumOperatorSets(*const OrtGraph, *mut usize) -> Status;
    337 Graph_GetOperatorSets(*const OrtGraph, *mut *const c_char, *mut i64, usize) -> Status;
    344 Graph_GetNumNodes(*const OrtGraph, *mut usize) -> Status;
    345 Graph_GetNodes(*const OrtGraph, *mut *const OrtNode, usize) -> Status;
    349 Node_GetName(*const OrtNode, *mut *const c_char) -> Status;
    350 Node_GetOperatorType(*const OrtNode, *mut *const c_char) -> Status;
    351 Node_GetDomain(*const OrtNode, *mut *const c_char) -> Status;
    353 Node_GetNumInputs(*const OrtNode, *mut usize) -> Status;
    354 Node_GetInputs(*const OrtNode, *mut *const OrtValueInfo, usize) -> Status;
    355 Node_GetNumOutputs(*const OrtNode, *mut usize) -> Status;
    356 Node_GetOutputs(*const OrtNode, *mut *const OrtValueInfo, usize) -> Status;
    357 Node_GetNumImplicitInputs(*const OrtNode, *mut usize) -> Status;
    358 Node_GetImplicitInputs(*const OrtNode, *mut *const OrtValueInfo, usize) -> Status;
    359 Node_GetNumAttributes(*const OrtNode, *mut usize) -> Status;
    360 Node_GetAttributes(*const OrtNode, *mut *const OrtOpAttr, usize) -> Status;
    362 OpAttr_GetTensorAttributeAsOrtValue(*const OrtOpAttr, *mut *mut OrtValue) -> Status;
    363 OpAttr_GetType(*const OrtOpAttr, *mut c_int) -> Status;
    364 OpAttr_GetName(*const OrtOpAttr, *mut *const c_char) -> Status;
    368 Node_GetEpName(*const OrtNode, *mut *const c_char) -> Status;
    378 GetTensorData(*const OrtValue, *mut *const c_void) -> Status;
    379 GetSessionOptionsConfigEntries(*const OrtSessionOptions, *mut *mut OrtKeyValuePairs) -> Status;
    390 TensorTypeAndShape_HasShape(*const OrtTensorTypeAndShapeInfo) -> bool;
});

table!(OrtEpApi[41] {
    0 CreateEpDevice(*mut OrtEpFactory, *const OrtHardwareDevice, *const OrtKeyValuePairs, *const OrtKeyValuePairs, *mut *mut OrtEpDevice) -> Status;
    1 ReleaseEpDevice(*mut OrtEpDevice);
    2 EpGraphSupportInfo_AddNodesToFuse(*mut OrtEpGraphSupportInfo, *const *const OrtNode, usize, *const OrtNodeFusionOptions) -> Status;
    5 EpDevice_AddAllocatorInfo(*mut OrtEpDevice, *const OrtMemoryInfo) -> Status;
    6 MemoryInfo_GetMemoryDevice(*const OrtMemoryInfo) -> *const OrtMemoryDevice;
    7 Value_GetMemoryDevice(*const OrtValue) -> *const OrtMemoryDevice;
    8 MemoryDevice_AreEqual(*const OrtMemoryDevice, *const OrtMemoryDevice) -> bool;
    9 MemoryDevice_GetDeviceType(*const OrtMemoryDevice) -> c_int;
    16 CreateHardwareDevice(c_int, u32, u32, *const c_char, *const OrtKeyValuePairs, *mut *mut OrtHardwareDevice) -> Status;
    17 ReleaseHardwareDevice(*mut OrtHardwareDevice);
    18 CreateKernelRegistry(*mut *mut OrtKernelRegistry) -> Status;
    19 ReleaseKernelRegistry(*mut OrtKernelRegistry);
    20 KernelRegistry_AddKernel(*mut OrtKernelRegistry, *const OrtKernelDef, OrtKernelCreateFunc, *mut c_void) -> Status;
    21 CreateKernelDefBuilder(*mut *mut OrtKernelDefBuilder) -> Status;
    22 ReleaseKernelDefBuilder(*mut OrtKernelDefBuilder);
    23 KernelDefBuilder_SetOperatorType(*mut OrtKernelDefBuilder, *const c_char) -> Status;
    24 KernelDefBuilder_SetDomain(*mut OrtKernelDefBuilder, *const c_char) -> Status;
    25 KernelDefBuilder_SetSinceVersion(*mut OrtKernelDefBuilder, c_int, c_int) -> Status;
    26 KernelDefBuilder_SetExecutionProvider(*mut OrtKernelDefBuilder, *const c_char) -> Status;
    27 KernelDefBuilder_SetInputMemType(*mut OrtKernelDefBuilder, usize, c_int) -> Status;
    28 KernelDefBuilder_SetOutputMemType(*mut OrtKernelDefBuilder, usize, c_int) -> Status;
    29 KernelDefBuilder_AddTypeConstraint(*mut OrtKernelDefBuilder, *const c_char, *const *const OrtDataType, usize) -> Status;
    32 KernelDefBuilder_Build(*mut OrtKernelDefBuilder, *mut *mut OrtKernelDef) -> Status;
    33 ReleaseKernelDef(*mut OrtKernelDef);
    40 GetTensorDataType(c_int, *mut *const OrtDataType) -> Status;
});

/// The entry point of ONNX Runtime's interface, which gives the tables.
#[repr(C)]
pub(crate) struct OrtApiBase {
    pub(crate) GetApi: unsafe extern "C" fn(u32) -> *const OrtApi,
    pub(crate) GetVersionString: unsafe extern "C" fn() -> *const c_char,
}

/// The options of fusing nodes.
#[repr(C)]
pub(crate) struct OrtNodeFusionOptions {
    pub(crate) ort_version_supported: u32,
    pub(crate) drop_constant_initializers: bool,
}

/// OrtHardwareDeviceType.
pub(crate) const CPU: c_int = 0;
pub(crate) const GPU: c_int = 1;

/// OrtLoggingLevel.
pub(crate) const INFO: c_int = 1;
pub(crate) const WARNING: c_int = 2;

/// OrtOpAttrType.
pub(crate) mod attribute {
    use std::ffi::c_int;

    pub(crate) const INT: c_int = 1;
    pub(crate) const INTS: c_int = 2;
    pub(crate) const FLOAT: c_int = 3;
    pub(crate) const FLOATS: c_int = 4;
    pub(crate) const STRING: c_int = 5;
    pub(crate) const STRINGS: c_int = 6;
    pub(crate) const TENSOR: c_int = 8;
}

/// A function that this library does not provide.
pub(crate) type None = *const c_void;

/// OrtEpFactory, which creates providers.
#[repr(C)]
pub(crate) struct OrtEpFactory {
    pub(crate) ort_version_supported: u32,
    pub(crate) GetName: unsafe extern "C" fn(*const Self) -> *const c_char,
    pub(crate) GetVendor: unsafe extern "C" fn(*const Self) -> *const c_char,
    pub(crate) GetSupportedDevices: unsafe extern "C" fn(
        *mut Self,
        *const *const OrtHardwareDevice,
        usize,
        *mut *mut OrtEpDevice,
        usize,
        *mut usize,
    ) -> Status,
    pub(crate) CreateEp: unsafe extern "C" fn(
        *mut Self,
        *const *const OrtHardwareDevice,
        *const *const OrtKeyValuePairs,
        usize,
        *const OrtSessionOptions,
        *const OrtLogger,
        *mut *mut OrtEp,
    ) -> Status,
    pub(crate) ReleaseEp: unsafe extern "C" fn(*mut Self, *mut OrtEp),
    pub(crate) GetVendorId: unsafe extern "C" fn(*const Self) -> u32,
    pub(crate) GetVersion: unsafe extern "C" fn(*const Self) -> *const c_char,
    pub(crate) ValidateCompiledModelCompatibilityInfo: None,
    pub(crate) CreateAllocator: unsafe extern "C" fn(
        *mut Self,
        *const OrtMemoryInfo,
        *const OrtKeyValuePairs,
        *mut *mut OrtAllocator,
    ) -> Status,
    pub(crate) ReleaseAllocator: unsafe extern "C" fn(*mut Self, *mut OrtAllocator),
    pub(crate) CreateDataTransfer:
        unsafe extern "C" fn(*mut Self, *mut *mut OrtDataTransferImpl) -> Status,
    pub(crate) IsStreamAware: unsafe extern "C" fn(*const Self) -> bool,
    pub(crate) CreateSyncStreamForDevice: None,
    pub(crate) SetEnvironmentOptions:
        unsafe extern "C" fn(*mut Self, *const OrtKeyValuePairs) -> Status,
    /// Further members, more than this version has.
    pub(crate) rest: [None; 8],
}

/// OrtEp, a provider, which runs nodes of one session.
#[repr(C)]
pub(crate) struct OrtEp {
    pub(crate) ort_version_supported: u32,
    pub(crate) GetName: unsafe extern "C" fn(*const Self) -> *const c_char,
    pub(crate) GetCapability:
        unsafe extern "C" fn(*mut Self, *const OrtGraph, *mut OrtEpGraphSupportInfo) -> Status,
    pub(crate) Compile: unsafe extern "C" fn(
        *mut Self,
        *const *const OrtGraph,
        *const *const OrtNode,
        usize,
        *mut *mut OrtNodeComputeInfo,
        *mut *mut OrtNode,
    ) -> Status,
    pub(crate) ReleaseNodeComputeInfos:
        unsafe extern "C" fn(*mut Self, *mut *mut OrtNodeComputeInfo, usize),
    /// The members from GetPreferredDataLayout to GetCompiledModelCompatibilityInfo.
    pub(crate) optional: [None; 8],
    pub(crate) GetKernelRegistry:
        unsafe extern "C" fn(*mut Self, *mut *const OrtKernelRegistry) -> Status,
    /// Further members, more than this version has.
    pub(crate) rest: [None; 8],
}

/// OrtAllocator, which gives device memory to ONNX Runtime.
#[repr(C)]
pub(crate) struct OrtAllocator {
    pub(crate) version: u32,
    pub(crate) Alloc: unsafe extern "C" fn(*mut Self, usize) -> *mut c_void,
    pub(crate) Free: unsafe extern "C" fn(*mut Self, *mut c_void),
    pub(crate) Info: unsafe extern "C" fn(*const Self) -> *const OrtMemoryInfo,
    /// The members from Reserve on, more than this version has.
    pub(crate) rest: [None; 8],
}

/// OrtDataTransferImpl, which copies tensors.
#[repr(C)]
pub(crate) struct OrtDataTransferImpl {
    pub(crate) ort_version_supported: u32,
    pub(crate) Release: unsafe extern "C" fn(*mut Self),
    pub(crate) CanCopy:
        unsafe extern "C" fn(*const Self, *const OrtMemoryDevice, *const OrtMemoryDevice) -> bool,
    pub(crate) CopyTensors: unsafe extern "C" fn(
        *mut Self,
        *const *const OrtValue,
        *const *mut OrtValue,
        *const *mut OrtSyncStream,
        usize,
    ) -> Status,
}

/// OrtKernelImpl, which runs one node.
#[repr(C)]
pub(crate) struct OrtKernelImpl {
    pub(crate) ort_version_supported: u32,
    /// For ONNX Runtime's own use; 0.
    pub(crate) flags: u32,
    pub(crate) Compute: unsafe extern "C" fn(*mut Self, *mut OrtKernelContext) -> Status,
    pub(crate) Release: unsafe extern "C" fn(*mut Self),
    /// Further members, more than this version has.
    pub(crate) rest: [None; 8],
}

/// The function that makes the kernel of a node.
pub(crate) type OrtKernelCreateFunc =
    unsafe extern "C" fn(*mut c_void, *const OrtKernelInfo, *mut *mut OrtKernelImpl) -> Status;

/// OrtNodeComputeInfo, which computes a group of nodes.
#[repr(C)]
pub(crate) struct OrtNodeComputeInfo {
    pub(crate) ort_version_supported: u32,
    pub(crate) CreateState:
        unsafe extern "C" fn(*mut Self, *mut OrtNodeComputeContext, *mut *mut c_void) -> Status,
    pub(crate) Compute:
        unsafe extern "C" fn(*mut Self, *mut c_void, *mut OrtKernelContext) -> Status,
    pub(crate) ReleaseState: unsafe extern "C" fn(*mut Self, *mut c_void),
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;

    /// Compares the slots of functions with the declarations of another project.
    macro_rules! places {
        ($($function:ident)*) => {
            [$((stringify!($function), offset_of!(ort_sys::OrtApi, $function) / size_of::<usize>())),*]
        };
    }

    #[test]
    fn functions_have_the_places_that_others_declare() {
        let places = places!(
            CreateStatus GetErrorMessage CastTypeInfoToTensorInfo
            GetTensorElementType GetDimensionsCount GetDimensions GetTensorTypeAndShape
            KernelContext_GetInput KernelContext_GetOutput ReleaseStatus ReleaseMemoryInfo ReleaseValue
            ReleaseTensorTypeAndShapeInfo Logger_LogMessage ReadOpAttr GetValueInfoName
            GetValueInfoTypeInfo CreateKeyValuePairs AddKeyValuePair GetKeyValuePairs
            ReleaseKeyValuePairs HardwareDevice_Type HardwareDevice_VendorId HardwareDevice_DeviceId
            GetEpApi GetTensorSizeInBytes CreateMemoryInfo_V2 ValueInfo_GetInitializerValue
            ValueInfo_IsConstantInitializer Graph_GetNumOperatorSets Graph_GetOperatorSets
            Graph_GetNumNodes Graph_GetNodes Node_GetName Node_GetOperatorType Node_GetDomain
            Node_GetNumInputs Node_GetInputs Node_GetNumOutputs Node_GetOutputs
            Node_GetNumImplicitInputs Node_GetImplicitInputs Node_GetNumAttributes Node_GetAttributes
            OpAttr_GetTensorAttributeAsOrtValue OpAttr_GetType OpAttr_GetName Node_GetEpName
            GetTensorData GetSessionOptionsConfigEntries TensorTypeAndShape_HasShape
        );
        assert_eq!(OrtApi::SLOTS, places);
    }

    /// An older host's table may end after its first function.
    #[test]
    fn the_first_function_is_read_from_a_table_of_any_length() {
        unsafe extern "C" fn create(code: c_int, _message: *const c_char) -> Status {
            std::ptr::without_provenance_mut(usize::try_from(code).unwrap_or(0))
        }
        let shortest: Box<[CreateStatus; 1]> = Box::new([create]);
        // SAFETY: the table has one function.
        let found = unsafe { create_status(std::ptr::from_ref(&*shortest).cast()) };
        // SAFETY: the function reads nothing.
        assert_eq!(unsafe { found(9, c"".as_ptr()) }.addr(), 9);
    }

    /// Nothing beyond the last function is read: an older host's table may end there.
    #[test]
    fn tables_end_with_their_last_function() {
        for (slots, size) in
            [(OrtApi::SLOTS, size_of::<OrtApi>()), (OrtEpApi::SLOTS, size_of::<OrtEpApi>())]
        {
            assert!(slots.is_sorted_by(|a, b| a.1 < b.1), "{slots:?}");
            assert_eq!(slots.last().map(|(_, slot)| slot + 1), Some(size / size_of::<usize>()));
        }
    }
}
