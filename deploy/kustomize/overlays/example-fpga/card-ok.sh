# Given a PCI address: whether the card still answers and has its driver. Reads /sys only, so it needs no
# privileges.
device=/sys/bus/pci/devices/$1

# A card that fell off the bus reads as ones.
vendor=$(od -An -tx2 -N2 "$device/config") || exit 1
if [ "$vendor" = " ffff" ]; then
  echo "the card does not answer any more"
  exit 1
fi

if [ ! -e "$device/driver" ]; then
  echo "the card has no driver"
  exit 1
fi
