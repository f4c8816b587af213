// SPDX-License-Identifier: MIT
#include "loop/os/program.h"

#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/stat.h>

struct program {
	const char *const *names;
	struct digest digest; /* of all objects so far */
};

static void program_add(struct program *program, const void *bytes, size_t size)
{
	const struct digest both[2] = {program->digest, digest_of(bytes, size)};
	program->digest = digest_of(both, sizeof(both));
}

static const uint8_t *note_next(const ElfW(Nhdr) * note)
{
	const size_t name = (note->n_namesz + 3u) & ~3u, text = (note->n_descsz + 3u) & ~3u;
	return (const uint8_t *)(note + 1) + name + text;
}

/* The linker puts it there: a hash of all that the object is. */
static bool program_add_build_id(struct program *program, const uint8_t *notes, size_t size)
{
	const uint8_t *end = notes + size;
	while (notes + sizeof(ElfW(Nhdr)) <= end) {
		const ElfW(Nhdr) *note = (const void *)notes;
		const char *name = (const char *)(note + 1);
		if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
		    memcmp(name, "GNU", 4) == 0) {
			program_add(program, name + 4, note->n_descsz);
			return true;
		}
		notes = note_next(note);
	}
	return false;
}

static void program_add_file(struct program *program, const char *path)
{
	struct stat stat_;
	if (stat(*path ? path : "/proc/self/exe", &stat_) < 0)
		return;
	const int64_t marks[] = {stat_.st_size, stat_.st_mtim.tv_sec, stat_.st_mtim.tv_nsec};
	program_add(program, marks, sizeof(marks));
}

static bool program_wants(const struct program *program, const char *path)
{
	const char *file = strrchr(path, '/');
	bool wants = !*path; /* the program itself */
	for (const char *const *name = program->names; *name && !wants; name++)
		wants = strstr(file ? file : path, *name);
	return wants;
}

static int program_add_object(struct dl_phdr_info *info, size_t size, void *context)
{
	struct program *program = context;
	(void)size;
	if (!program_wants(program, info->dlpi_name))
		return 0;
	bool known = false;
	for (unsigned i = 0; i < info->dlpi_phnum && !known; i++) {
		const ElfW(Phdr) *part = &info->dlpi_phdr[i];
		/* The loader's own table: its addresses are numbers. */
		const uint8_t *notes =
			(const uint8_t *)(uintptr_t)(info->dlpi_addr + part->p_vaddr);
		if (part->p_type == PT_NOTE)
			known = program_add_build_id(program, notes, part->p_memsz);
	}
	if (!known)
		program_add_file(program, info->dlpi_name);
	return 0;
}

struct digest program_digest(const char *const *names)
{
	struct program program = {.names = names};
	dl_iterate_phdr(program_add_object, &program);
	return program.digest;
}
