# Succeeds if the card at this PCI address responds and has its driver. Only reads /sys, so it needs no
# privileges.
device=/sys/bus/pci/devices/$1

# A card that is no longer on the bus reads as all ones.
vendor=$(od -An -tx2 -N2 "$device/config") || exit 1
if [ "$vendor" = " ffff" ]; then
  echo "the card does not answer any more"
  exit 1
fi

if [ ! -e "$device/driver" ]; then
  echo "the card has no driver"
  exit 1
fi
