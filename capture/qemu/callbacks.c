/* Registers the plugin's own callbacks. From version 7 of QEMU's interface on, their arguments are different; the
   plugin needs none of them. GPL-2.0-or-later, see ../valgrind/COPYING. */
#include "plugin.h"

static qemu_plugin_id_t plugin;
static void (*of_code)(struct qemu_plugin_tb *tb);
static void (*at_exit)(void);
static void (*anew)(void);

#if PLUGIN_VERSION < 7
static void on_code(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    (void)id;
    of_code(tb);
}

static void on_exit_of_qemu(qemu_plugin_id_t id, void *data)
{
    (void)id;
    (void)data;
    at_exit();
}

static void on_reset(qemu_plugin_id_t id)
#else
static void on_code(struct qemu_plugin_tb *tb, void *data)
{
    (void)data;
    of_code(tb);
}

static void on_exit_of_qemu(void *data)
{
    (void)data;
    at_exit();
}

static void on_reset(void *id)
#endif
{
    void (*callback)(void) = anew;

    (void)id;
    anew = NULL;
    callback();
}

void callbacks_know(qemu_plugin_id_t id)
{
    plugin = id;
}

void callbacks_of_code(void (*callback)(struct qemu_plugin_tb *tb))
{
    of_code = callback;
#if PLUGIN_VERSION < 7
    qemu_plugin_register_vcpu_tb_trans_cb(plugin, on_code);
#else
    qemu_plugin_register_vcpu_tb_trans_cb(plugin, on_code, NULL);
#endif
}

void callbacks_at_exit(void (*callback)(void))
{
    at_exit = callback;
    qemu_plugin_register_atexit_cb(plugin, on_exit_of_qemu, NULL);
}

/* QEMU ignores a request that is made before the previous one has been answered. */
void callbacks_anew(void (*callback)(void))
{
    if (anew)
        return;
    anew = callback;
#if PLUGIN_VERSION < 7
    qemu_plugin_reset(plugin, on_reset);
#else
    qemu_plugin_reset(plugin, on_reset, NULL);
#endif
}
