# Two programs that run a command under a known effect and undo it: eight control groups around it, and autogroup the other way.
cat > in-groups << 'END'
#!/bin/sh
top=/sys/fs/cgroup/cpu
[ -d $top ] || top=/sys/fs/cgroup
root=$top
for level in 1 2 3 4 5 6 7 8; do
    # Version 2; in version 1 each group has the controller.
    (echo +cpu > $root/cgroup.subtree_control) 2> /dev/null
    root=$root/switchcost-bench-$level
    mkdir $root || exit
done
echo $$ > $root/cgroup.procs || exit
"$@"
code=$?
# No group with a task in it can be removed.
echo $$ > $top/cgroup.procs
find $top/switchcost-bench-1 -depth -type d -exec rmdir {} +
exit $code
END
cat > autogroup-changed << 'END'
#!/bin/sh
setting=/proc/sys/kernel/sched_autogroup_enabled
before=$(cat $setting) || exit
echo $((1 - before)) > $setting || exit
"$@"
code=$?
echo $before > $setting
exit $code
END
chmod +x in-groups autogroup-changed
