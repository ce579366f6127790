/* What a Vulkan program has anyway. Nothing here knows of the library. */
#ifndef VULKAN_PROGRAM_H
#define VULKAN_PROGRAM_H

#include <vulkan/vulkan.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK_VK(call)                                                                             \
    do {                                                                                           \
        VkResult code = (call);                                                                    \
        if (code != VK_SUCCESS) {                                                                  \
            fprintf(stderr, "%s: %d\n", #call, code);                                              \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

#define BUFFER_USAGE                                                                               \
    (VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT |                       \
     VK_BUFFER_USAGE_TRANSFER_DST_BIT)

struct program {
    VkInstance instance;
    VkPhysicalDevice physical_device;
    VkDevice device;
    uint32_t queue_family;
    VkQueue queue;
    VkCommandPool pool;
};

struct buffer {
    VkBuffer buffer;
    VkDeviceMemory memory;
    void *mapped;
};

/* The instance and its physical device. */
static struct program create_instance(uint32_t index)
{
    struct program program = {0};
    VkApplicationInfo application = {.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO,
                                     .apiVersion = VK_API_VERSION_1_1};
    VkInstanceCreateInfo instance_info = {.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO,
                                          .pApplicationInfo = &application};
    CHECK_VK(vkCreateInstance(&instance_info, NULL, &program.instance));

    VkPhysicalDevice devices[16];
    uint32_t count = 16;
    CHECK_VK(vkEnumeratePhysicalDevices(program.instance, &count, devices));
    if (index >= count) {
        fprintf(stderr, "there is no device %u\n", index);
        exit(1);
    }
    program.physical_device = devices[index];
    return program;
}

/* The device with one compute queue, and what is to be enabled on it. */
static void create_device(struct program *program, uint32_t extension_count,
                          const char *const *extensions, const void *features)
{
    VkQueueFamilyProperties families[16];
    uint32_t family_count = 16;
    vkGetPhysicalDeviceQueueFamilyProperties(program->physical_device, &family_count, families);
    while (program->queue_family < family_count &&
           !(families[program->queue_family].queueFlags & VK_QUEUE_COMPUTE_BIT)) {
        program->queue_family++;
    }

    float priority = 1.0f;
    VkDeviceQueueCreateInfo queue_info = {.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO,
                                          .queueFamilyIndex = program->queue_family,
                                          .queueCount = 1,
                                          .pQueuePriorities = &priority};
    VkDeviceCreateInfo device_info = {.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO,
                                      .pNext = features,
                                      .queueCreateInfoCount = 1,
                                      .pQueueCreateInfos = &queue_info,
                                      .enabledExtensionCount = extension_count,
                                      .ppEnabledExtensionNames = extensions};
    CHECK_VK(vkCreateDevice(program->physical_device, &device_info, NULL, &program->device));
    vkGetDeviceQueue(program->device, program->queue_family, 0, &program->queue);

    VkCommandPoolCreateInfo pool_info = {.sType = VK_STRUCTURE_TYPE_COMMAND_POOL_CREATE_INFO,
                                         .queueFamilyIndex = program->queue_family};
    CHECK_VK(vkCreateCommandPool(program->device, &pool_info, NULL, &program->pool));
}

static void destroy_program(struct program *program)
{
    vkDestroyCommandPool(program->device, program->pool, NULL);
    vkDestroyDevice(program->device, NULL);
    vkDestroyInstance(program->instance, NULL);
}

/* A buffer in memory that the host sees. */
static struct buffer create_buffer(const struct program *program, VkDeviceSize size)
{
    struct buffer buffer = {0};
    VkBufferCreateInfo info = {
        .sType = VK_STRUCTURE_TYPE_BUFFER_CREATE_INFO, .size = size, .usage = BUFFER_USAGE};
    CHECK_VK(vkCreateBuffer(program->device, &info, NULL, &buffer.buffer));
    VkMemoryRequirements needed;
    vkGetBufferMemoryRequirements(program->device, buffer.buffer, &needed);
    VkPhysicalDeviceMemoryProperties types;
    vkGetPhysicalDeviceMemoryProperties(program->physical_device, &types);
    VkMemoryPropertyFlags wanted =
        VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
    uint32_t type = 0;
    while (type < types.memoryTypeCount &&
           (!(needed.memoryTypeBits & (1u << type)) ||
            (types.memoryTypes[type].propertyFlags & wanted) != wanted)) {
        type++;
    }
    VkMemoryAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_MEMORY_ALLOCATE_INFO,
                                     .allocationSize = needed.size,
                                     .memoryTypeIndex = type};
    CHECK_VK(vkAllocateMemory(program->device, &allocate, NULL, &buffer.memory));
    CHECK_VK(vkBindBufferMemory(program->device, buffer.buffer, buffer.memory, 0));
    CHECK_VK(vkMapMemory(program->device, buffer.memory, 0, VK_WHOLE_SIZE, 0, &buffer.mapped));
    return buffer;
}

static void destroy_buffer(const struct program *program, struct buffer *buffer)
{
    vkDestroyBuffer(program->device, buffer->buffer, NULL);
    vkFreeMemory(program->device, buffer->memory, NULL);
}

static VkCommandBuffer begin(const struct program *program)
{
    VkCommandBufferAllocateInfo allocate = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_ALLOCATE_INFO,
                                            .commandPool = program->pool,
                                            .level = VK_COMMAND_BUFFER_LEVEL_PRIMARY,
                                            .commandBufferCount = 1};
    VkCommandBuffer commands;
    CHECK_VK(vkAllocateCommandBuffers(program->device, &allocate, &commands));
    VkCommandBufferBeginInfo info = {.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_BEGIN_INFO};
    CHECK_VK(vkBeginCommandBuffer(commands, &info));
    return commands;
}

static void barrier(VkCommandBuffer commands, VkPipelineStageFlags from, VkAccessFlags wrote,
                    VkPipelineStageFlags to, VkAccessFlags reads)
{
    VkMemoryBarrier memory = {
        .sType = VK_STRUCTURE_TYPE_MEMORY_BARRIER, .srcAccessMask = wrote, .dstAccessMask = reads};
    vkCmdPipelineBarrier(commands, from, to, 0, 1, &memory, 0, NULL, 0, NULL);
}

static void submit_and_wait(const struct program *program, VkCommandBuffer commands)
{
    CHECK_VK(vkEndCommandBuffer(commands));
    VkSubmitInfo submit = {.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO,
                           .commandBufferCount = 1,
                           .pCommandBuffers = &commands};
    CHECK_VK(vkQueueSubmit(program->queue, 1, &submit, VK_NULL_HANDLE));
    CHECK_VK(vkQueueWaitIdle(program->queue));
}

#endif
