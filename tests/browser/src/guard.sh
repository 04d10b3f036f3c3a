# Runs chromedriver until the test process is gone, however it went: its end closes our standard
# input. Then ends the driver and the browser that uses this profile, and removes the profile.
folder=$1
driver=$2
"$driver" --port=0 >"$folder/driver.log" 2>&1 </dev/null &
child=$!
cat >/dev/null
kill -KILL "$child" 2>/dev/null
for process in /proc/[0-9]*; do
  pid=${process#/proc/}
  [ "$pid" = "$$" ] && continue
  tr '\0' '\n' <"$process/cmdline" 2>/dev/null | grep -qxF -e "--user-data-dir=$folder/profile" && kill -KILL "$pid" 2>/dev/null
done
# A dying browser may still write for a moment.
for attempt in 1 2 3 4 5 6 7 8 9 10; do
  rm -rf "$folder" 2>/dev/null && [ ! -e "$folder" ] && exit 0
  sleep 0.1
done
