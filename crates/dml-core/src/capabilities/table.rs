//! The table of Vulkan's optional features, from which all code that names them is generated.

/// Passes the table to the macro called `$then`.
///
/// A feature is a member of one of Vulkan's structures, which an extension introduced and a version of the
/// core may include:
///
/// - `basic`: members of VkPhysicalDeviceFeatures.
/// - `chained`: members of the structures that vkGetPhysicalDeviceFeatures2 takes and vkCreateDevice is
///   given.
/// - `properties`: members of structures of vkGetPhysicalDeviceProperties2, of which only the extension
///   needs to be enabled.
/// - `operations`: bits of `supportedOperations` of VkPhysicalDeviceSubgroupProperties, if compute shaders
///   support them. Nothing needs to be enabled.
///
/// A row is: the variant, its number (of a bit, in C and in [`Features`](crate::capabilities::Features)),
/// Vulkan's name, the member in Rust, when it is enabled
/// ([`Enabling`](crate::capabilities::Enabling)), and the capabilities of SPIR-V that it allows, by name
/// and number; `for` has the width of the floats that an execution mode of the same name is about.
/// Numbers are never given to another feature: 7, 10, 21, 23 and 25 are retired.
#[doc(hidden)]
#[macro_export]
macro_rules! feature_table {
    ($then:ident) => {
        $then! {
            basic {
                RobustBufferAccess = 9, "robustBufferAccess", robust_buffer_access, ByChoice, [];
                ShaderInt16 = 1, "shaderInt16", shader_int16, WhereOffered, [Int16 = 22];
                ShaderInt64 = 2, "shaderInt64", shader_int64, WhereOffered, [Int64 = 11];
                ShaderFloat64 = 4, "shaderFloat64", shader_float64, WhereOffered, [Float64 = 10];
            }
            extended [
                chained {
                    PhysicalDevice16BitStorageFeatures of c"VK_KHR_16bit_storage" since 1, 1 {
                        StorageBuffer16BitAccess = 6, "storageBuffer16BitAccess",
                            storage_buffer16_bit_access, WhereOffered, [StorageBuffer16BitAccess = 4433];
                    }
                    PhysicalDevice8BitStorageFeatures of c"VK_KHR_8bit_storage" since 1, 2 {
                        StorageBuffer8BitAccess = 5, "storageBuffer8BitAccess",
                            storage_buffer8_bit_access, WhereOffered, [StorageBuffer8BitAccess = 4448];
                    }
                    PhysicalDeviceShaderFloat16Int8Features of c"VK_KHR_shader_float16_int8" since 1, 2 {
                        ShaderInt8 = 0, "shaderInt8", shader_int8, WhereOffered, [Int8 = 39];
                        ShaderFloat16 = 3, "shaderFloat16", shader_float16, WhereOffered, [Float16 = 9];
                    }
                    PhysicalDeviceTimelineSemaphoreFeatures of c"VK_KHR_timeline_semaphore" since 1, 2 {
                        TimelineSemaphore = 8, "timelineSemaphore", timeline_semaphore, Always, [];
                    }
                    PhysicalDeviceVulkanMemoryModelFeatures of c"VK_KHR_vulkan_memory_model" since 1, 2 {
                        VulkanMemoryModel = 11, "vulkanMemoryModel", vulkan_memory_model, WhereOffered,
                            [VulkanMemoryModel = 5345];
                        VulkanMemoryModelDeviceScope = 26, "vulkanMemoryModelDeviceScope",
                            vulkan_memory_model_device_scope, WhereOffered,
                            [VulkanMemoryModelDeviceScope = 5346];
                    }
                    PhysicalDeviceSubgroupSizeControlFeatures of c"VK_EXT_subgroup_size_control" since 1, 3 {
                        SubgroupSizeControl = 12, "subgroupSizeControl", subgroup_size_control,
                            WhereOffered, [];
                        ComputeFullSubgroups = 13, "computeFullSubgroups", compute_full_subgroups,
                            WhereOffered, [];
                    }
                    PhysicalDeviceShaderIntegerDotProductFeatures of
                        c"VK_KHR_shader_integer_dot_product" since 1, 3 {
                        ShaderIntegerDotProduct = 27, "shaderIntegerDotProduct",
                            shader_integer_dot_product, WhereOffered,
                            [DotProduct = 6019];
                    }
                    PhysicalDeviceCooperativeMatrixFeaturesKHR of c"VK_KHR_cooperative_matrix" {
                        CooperativeMatrix = 14, "cooperativeMatrix", cooperative_matrix, WhereOffered,
                            [CooperativeMatrixKHR = 6022];
                    }
                }
                properties {
                    PhysicalDeviceFloatControlsProperties of c"VK_KHR_shader_float_controls" since 1, 2 {
                        ShaderRoundingModeRteFloat16 = 15, "shaderRoundingModeRTEFloat16",
                            shader_rounding_mode_rte_float16, WhereOffered, [RoundingModeRTE = 4467 for 16];
                        ShaderRoundingModeRteFloat32 = 16, "shaderRoundingModeRTEFloat32",
                            shader_rounding_mode_rte_float32, WhereOffered, [RoundingModeRTE = 4467 for 32];
                        ShaderDenormPreserveFloat16 = 17, "shaderDenormPreserveFloat16",
                            shader_denorm_preserve_float16, WhereOffered, [DenormPreserve = 4464 for 16];
                        ShaderDenormPreserveFloat32 = 18, "shaderDenormPreserveFloat32",
                            shader_denorm_preserve_float32, WhereOffered, [DenormPreserve = 4464 for 32];
                        ShaderSignedZeroInfNanPreserveFloat16 = 19,
                            "shaderSignedZeroInfNanPreserveFloat16",
                            shader_signed_zero_inf_nan_preserve_float16, WhereOffered,
                            [SignedZeroInfNanPreserve = 4466 for 16];
                        ShaderSignedZeroInfNanPreserveFloat32 = 20,
                            "shaderSignedZeroInfNanPreserveFloat32",
                            shader_signed_zero_inf_nan_preserve_float32, WhereOffered,
                            [SignedZeroInfNanPreserve = 4466 for 32];
                    }
                }
            ]
            operations {
                SubgroupArithmetic = 22, "VK_SUBGROUP_FEATURE_ARITHMETIC_BIT", ARITHMETIC,
                    WhereOffered, [GroupNonUniformArithmetic = 63];
                SubgroupShuffle = 24, "VK_SUBGROUP_FEATURE_SHUFFLE_BIT", SHUFFLE, WhereOffered,
                    [GroupNonUniformShuffle = 65];
            }
        }
    };
}
