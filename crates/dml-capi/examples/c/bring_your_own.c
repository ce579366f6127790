/*
 * Bring your own: this program owns the Vulkan instance, device, queue, buffers and command buffer. The
 * library records one operator between the program's own commands; barriers and submission are the
 * program's.
 *
 *   cc bring_your_own.c $(pkg-config --cflags --libs dmlvk vulkan) -o bring_your_own
 *   ./bring_your_own [INDEX]
 */
#include "vulkan_program.h"

#include <dmlvk/dmlvk.h>

#define SIDE 4
#define BYTES (SIDE * SIDE * sizeof(float))
/* Both tensors lie in one buffer; any multiple of 16 would do. */
#define OUTPUT_AT 256

#define CHECK_DML(call)                                                                            \
    do {                                                                                           \
        if (FAILED(call)) {                                                                        \
            fprintf(stderr, "%s\n", dmlvk_last_message());                                         \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* What is worth enabling. None of it is needed, as the program submits by itself. */
static DmlVkEnablement get_enablement(const struct program *program)
{
    DmlVkEnablementDesc desc = {0};
    desc.struct_size = sizeof desc;
    desc.api_version = VK_API_VERSION_1_1;
    desc.get_instance_proc_addr = vkGetInstanceProcAddr;
    desc.instance = program->instance;
    desc.physical_device = program->physical_device;
    DmlVkEnablement enablement;
    CHECK_DML(dmlvk_get_enablement(&desc, &enablement));
    return enablement;
}

static DmlVkDevice wrap_device(const struct program *program, const DmlVkEnablement *enabled)
{
    DmlVkRawDeviceDesc desc = {0};
    desc.struct_size = sizeof desc;
    desc.minimum_feature_level = DML_FEATURE_LEVEL_5_1;
    desc.api_version = VK_API_VERSION_1_1;
    desc.get_instance_proc_addr = vkGetInstanceProcAddr;
    desc.instance = program->instance;
    desc.physical_device = program->physical_device;
    desc.device = program->device;
    desc.queue_family = program->queue_family;
    desc.device_extensions = enabled->extensions;
    desc.device_extension_count = enabled->extension_count;
    desc.features = enabled->features;
    /* Without a queue nothing is submitted by the library. */
    DmlVkDevice device;
    CHECK_DML(dmlvk_wrap_device(&desc, &device));
    return device;
}

/* Ones on and above the main diagonal, the input's elements below it. */
static DmlVkOperator compile(DmlVkDevice device)
{
    UINT sizes[] = {SIDE, SIDE};
    DML_BUFFER_TENSOR_DESC buffer = {0};
    buffer.DataType = DML_TENSOR_DATA_TYPE_FLOAT32;
    buffer.DimensionCount = 2;
    buffer.Sizes = sizes;
    buffer.TotalTensorSizeInBytes = BYTES;
    DML_TENSOR_DESC tensor = {DML_TENSOR_TYPE_BUFFER, &buffer};
    DML_DIAGONAL_MATRIX1_OPERATOR_DESC triangle = {0};
    triangle.InputTensor = &tensor;
    triangle.OutputTensor = &tensor;
    triangle.ValueDataType = DML_TENSOR_DATA_TYPE_FLOAT32;
    triangle.Value.Float32 = 1.0f;
    triangle.DiagonalFillBegin = 0;
    triangle.DiagonalFillEnd = INT32_MAX;
    DML_OPERATOR_DESC desc = {DML_OPERATOR_DIAGONAL_MATRIX1, &triangle};
    DmlVkOperator compiled;
    CHECK_DML(dmlvk_compile_operator(device, &desc, DML_EXECUTION_FLAG_NONE, &compiled));
    return compiled;
}

static DmlVkBindingTable bind(DmlVkDevice device, DmlVkOperator compiled, VkBuffer tensors)
{
    DmlVkRawBufferDesc desc = {0};
    desc.struct_size = sizeof desc;
    desc.usage = BUFFER_USAGE;
    desc.buffer = tensors;
    desc.size = OUTPUT_AT + BYTES;
    DmlVkBuffer buffer;
    CHECK_DML(dmlvk_wrap_buffer(device, &desc, &buffer));
    DmlVkBufferBinding input = {buffer, 0, BYTES};
    DmlVkBufferBinding output = {buffer, OUTPUT_AT, BYTES};
    DmlVkBindings bindings = {0};
    bindings.struct_size = sizeof bindings;
    bindings.input_count = 1;
    bindings.inputs = &input;
    bindings.output_count = 1;
    bindings.outputs = &output;
    DmlVkBindingTable table;
    CHECK_DML(dmlvk_create_binding_table(compiled, DMLVK_PHASE_EXECUTE, &bindings, &table));
    return table;
}

static void record(VkCommandBuffer commands, DmlVkBindingTable table, VkBuffer tensors, VkBuffer result)
{
    /* How every operator touches its inputs and outputs, whatever it is made of. */
    DmlVkAccess access;
    CHECK_DML(dmlvk_get_access(&access));

    float two = 2.0f;
    uint32_t pattern;
    memcpy(&pattern, &two, sizeof pattern);
    vkCmdFillBuffer(commands, tensors, 0, BYTES, pattern);
#ifndef OMIT_BARRIER
    barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT, access.stages,
            access.inputs);
#endif
    CHECK_DML(dmlvk_record_dispatch(commands, table));
    barrier(commands, access.stages, access.outputs, VK_PIPELINE_STAGE_TRANSFER_BIT,
            VK_ACCESS_TRANSFER_READ_BIT);
    VkBufferCopy region = {OUTPUT_AT, 0, BYTES};
    vkCmdCopyBuffer(commands, tensors, result, 1, &region);
    barrier(commands, VK_PIPELINE_STAGE_TRANSFER_BIT, VK_ACCESS_TRANSFER_WRITE_BIT,
            VK_PIPELINE_STAGE_HOST_BIT, VK_ACCESS_HOST_READ_BIT);
}

int main(int argc, char **argv)
{
    struct program program = create_instance(argc > 1 ? (uint32_t)atoi(argv[1]) : 0);
    DmlVkEnablement enablement = get_enablement(&program);
    create_device(&program, enablement.extension_count, enablement.extensions, enablement.chain);
    struct buffer tensors = create_buffer(&program, OUTPUT_AT + BYTES);
    struct buffer result = create_buffer(&program, BYTES);

    DmlVkDevice device = wrap_device(&program, &enablement);
    DmlVkOperator compiled = compile(device);
    DmlVkBindingTable table = bind(device, compiled, tensors.buffer);

    VkCommandBuffer commands = begin(&program);
    record(commands, table, tensors.buffer, result.buffer);
    submit_and_wait(&program, commands);

    int wrong = 0;
    const float *values = result.mapped;
    for (int y = 0; y < SIDE; y++) {
        for (int x = 0; x < SIDE; x++) {
            printf("%g ", values[SIDE * y + x]);
            wrong += values[SIDE * y + x] != (x >= y ? 1.0f : 2.0f);
        }
        printf("\n");
    }

    /* The library's objects go first; then the program destroys what is its own. */
    CHECK_DML(dmlvk_destroy_device(device));
    destroy_buffer(&program, &tensors);
    destroy_buffer(&program, &result);
    destroy_program(&program);
    return wrong;
}
