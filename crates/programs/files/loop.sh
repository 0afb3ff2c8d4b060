# What a user does at a shell, without end.
while :; do
    cp text copy
    cat copy > other
    ex -u NONE -s -c '%s/7/seven/g' -c 'wq' copy
    rm other
    ps -ef > processes
    ls -l > listing
done
