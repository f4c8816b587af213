// SPDX-License-Identifier: MIT
/*
 * A plugin of qemu-user: says on stderr how many instructions a program ran. Debian's qemu-user has
 * no header for plugins, so what is used of it is declared here (its version 1).
 *	gcc -shared -fPIC -O2 -o count.so tests/arm64/count.c
 *	STOKER_CPU=neon qemu-aarch64 -L ROOT -plugin ./count.so resample_bench 2 "300x900"
 * The difference between 2 rounds and 1 is eight crops with each instruction set up to that one.
 */
#include <inttypes.h>
#include <stdio.h>

#define EXPORT __attribute__((visibility("default")))

enum { ADD = 0 }; /* qemu_plugin_op */
struct qemu_plugin_tb;
typedef void translated(uint64_t id, struct qemu_plugin_tb *block);
typedef void ended(uint64_t id, void *context);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *block);
void qemu_plugin_register_vcpu_tb_trans_cb(uint64_t id, translated *call);
void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *block, int op, void *to,
					      uint64_t number);
void qemu_plugin_register_atexit_cb(uint64_t id, ended *call, void *context);
int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv);

EXPORT int qemu_plugin_version = 1;
static uint64_t count;

static void on_translated(uint64_t id, struct qemu_plugin_tb *block)
{
	(void)id;
	qemu_plugin_register_vcpu_tb_exec_inline(block, ADD, &count, qemu_plugin_tb_n_insns(block));
}

static void on_end(uint64_t id, void *context)
{
	(void)id;
	(void)context;
	fprintf(stderr, "%" PRIu64 " instructions\n", count);
}

EXPORT int qemu_plugin_install(uint64_t id, const void *info, int argc, char **argv)
{
	(void)info;
	(void)argc;
	(void)argv;
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translated);
	qemu_plugin_register_atexit_cb(id, on_end, NULL);
	return 0;
}
