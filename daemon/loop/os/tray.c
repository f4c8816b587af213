// SPDX-License-Identifier: MIT
#include "loop/os/tray.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static int tray_prepare(struct tray *tray)
{
	if (fchmod(tray->fd, 0600) < 0 || ftruncate(tray->fd, (off_t)tray->bytes) < 0 ||
	    fcntl(tray->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return -errno;
	void *map = mmap(NULL, tray->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, tray->fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	tray->map = map;
	return 0;
}

int tray_make(struct tray *out, size_t bytes)
{
	*out = (struct tray){.fd = memfd_create("stoker-tray", MFD_CLOEXEC | MFD_ALLOW_SEALING),
			     .bytes = bytes};
	int r = out->fd < 0 ? -errno : tray_prepare(out);
	if (r < 0)
		tray_deinit(out);
	return r;
}

void tray_deinit(struct tray *tray)
{
	if (tray->map)
		munmap(tray->map, tray->bytes);
	if (tray->fd >= 0)
		close(tray->fd);
	*tray = TRAY_NULL;
}
