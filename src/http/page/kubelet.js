"use strict";

// The banner: the kubelet is away, or does not register resources. Without the kubelet nothing else on the page matters.

const kReasonsShown = 3;

const code = (text) => make("code", {}, text);

/** Returns what is wrong between Patchbay and the kubelet; null if nothing is. */
function kubeletProblem() {
  const { kubelet } = status;
  const scanned = resources.filter((resource) => resource.last_scan);
  // While an attempt is in progress, the reason of the last one remains.
  const failing = scanned.filter(({ registered, state, state_reason: reason }) =>
    !registered && reason !== "" && (state === "retrying" || state === "registering"));
  if (!kubelet.up && scanned.length > 0) {
    return { kind: failing.length > 0 ? "silent" : "missing", since: kubelet.up_changed_at, socket: kubelet.socket,
      failing: reasonsOf(failing) };
  }
  if (failing.length === 0) return null;
  const since = failing.map((resource) => resource.registered_changed_at).sort()[0];
  return { kind: "refused", since, socket: kubelet.socket, failing: reasonsOf(failing), count: failing.length,
    total: resources.length };
}

/** Groups resources by the reason for which they are not registered. */
function reasonsOf(failing) {
  const names = new Map();
  for (const { name, state_reason: reason } of failing) names.set(reason, [...(names.get(reason) ?? []), name]);
  return [...names].map(([reason, of]) => ({ reason, names: of.length > 2 ? `${of[0]} and ${of.length - 1} more`
    : of.join(" and ") }));
}

const kKubelet = {
  missing: {
    lead: () => "The kubelet is not running on this node.",
    facts: ({ socket }) => ["Its socket ", code(socket), " has been missing since "],
    steps: [
      () => ["Check the kubelet: ", copyable("systemctl status kubelet", "the command"),
        copyable("journalctl -u kubelet", "the command")],
      ({ socket }) => ["If the kubelet is running, Patchbay expects it in the wrong place. Set ", code("kubelet_dir"), " in ",
        code("[daemon]"), " to the kubelet's device plugin directory. In a pod, mount ",
        code(socket.replace(/\/[^/]*$/, "")), " of the host there."],
    ],
    then: "Patchbay registers all resources as soon as the socket exists. Running pods keep their devices.",
  },
  silent: {
    lead: () => "The kubelet is not responding.",
    facts: ({ socket }) => ["Its socket ", code(socket), " exists, but the kubelet has not answered since "],
    steps: [
      () => ["Check the kubelet: ", copyable("journalctl -u kubelet", "the command")],
      () => ["If it hangs, restart it: ", copyable("systemctl restart kubelet", "the command")],
    ],
    then: "Patchbay keeps retrying. Running pods keep their devices.",
  },
  refused: {
    lead: ({ count: failing, total }) => failing === total && total > 1 ? "No resource is registered with the kubelet."
      : `${number.format(failing)} of ${count(total, "resource")} ${failing === 1 ? "is" : "are"} not registered with the kubelet.`,
    facts: () => ["Pods that request them stay pending. Not registered since "],
    steps: [() => ["Check the kubelet's log: ", copyable("journalctl -u kubelet", "the command")]],
    then: "Patchbay keeps retrying, at least every 30 s.",
  },
};

function showKubelet() {
  const box = at("kubelet");
  const problem = kubeletProblem();
  box.hidden = problem === null;
  if (problem === null) return fill(box, "", () => []);
  fill(box, JSON.stringify(problem), () => {
    const { lead, facts, steps, then } = kKubelet[problem.kind];
    const reasons = problem.failing.slice(0, kReasonsShown).map(({ reason, names }) =>
      make("li", {}, make("span", { class: "mono" }, names), make("span", { class: "reason" }, reason)));
    if (problem.failing.length > kReasonsShown) {
      reasons.push(make("li", { class: "quiet" }, `and ${count(problem.failing.length - kReasonsShown, "other reason")}`));
    }
    return [make("div", { class: "wide" },
      make("p", { class: "lead", role: "alert" }, lead(problem)),
      make("p", {}, ...facts(problem), moment(problem.since), " (", timeOf(problem.since), ")."),
      ...(reasons.length > 0 ? [make("ul", { class: "because" }, ...reasons)] : []),
      make("ul", { class: "steps" }, ...steps.map((step) => make("li", {}, ...step(problem))),
        make("li", {}, then)))];
  });
}
