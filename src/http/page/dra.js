"use strict";

// Dynamic Resource Allocation: the banner, and the part of a resource that only this API has.

const kLimitsClaim = "-extended-resources-";
const kProblemsShown = 20;

/** Returns the problems of the API server and the driver; null if there are none. */
function draProblem() {
  const { dra } = status;
  if (!dra) return null;
  const { url, up, error } = dra.api_server;
  const isAway = !up && error !== "";
  if (!isAway && dra.registration_error === "" && dra.dropped_fields.length === 0) return null;
  return { url, away: isAway ? error : "", registration: dra.registration_error, dropped: dra.dropped_fields };
}

const kDroppedFields = {
  taints: "Unhealthy devices leave the list instead of being tainted, and no pod is evicted.",
  allowMultipleAllocations: "Resources with replicas above 1 are not served.",
};

function showDra() {
  const box = at("dra");
  const problem = draProblem();
  box.hidden = problem === null;
  fill(box, JSON.stringify(problem), () => {
    if (problem === null) return [];
    const parts = [];
    const add = (lead, facts, ...steps) => parts.push(make("p", { class: "lead", role: "alert" }, lead),
      make("p", {}, ...facts), make("ul", { class: "steps" }, ...steps.map((step) => make("li", {}, ...step))));
    if (problem.away) {
      add("The Kubernetes API server is not responding.", [code(problem.url), ": ", problem.away],
        ["Check the address, the certificates and the token in ", code("[daemon.kubernetes]"),
          ", and that a NetworkPolicy permits the connection."],
        ["Patchbay keeps retrying. Running pods keep their devices, and claims that are prepared stay prepared."]);
    }
    if (problem.registration) {
      add("The driver is not registered with the kubelet.", [problem.registration],
        ["Check the kubelet's log: ", copyable("journalctl -u kubelet", "the command")]);
    }
    if (problem.dropped.length > 0) {
      add("The API server drops fields.", ["It does not store ", code(problem.dropped.join(", ")), "."],
        ...problem.dropped.map((field) => [kDroppedFields[field] ?? field]),
        ["Use Kubernetes 1.36, or turn on the feature gates ", code("DRADeviceTaints"), " and ",
          code("DRAConsumableCapacity"), "."]);
    }
    return [make("div", { class: "wide" }, ...parts)];
  });
}

/** The pod for whose limits Kubernetes made a claim; empty for other claims. */
const podOfClaim = ({ name }) => name.includes(kLimitsClaim) ? name.slice(0, name.lastIndexOf(kLimitsClaim)) : "";

/** Returns the prepared claims that have devices of the resource, with only those devices. */
function claimsOf(resource) {
  return (status.dra?.claims ?? [])
    .map((claim) => ({ ...claim, devices: claim.devices.filter((device) => device.resource === resource) }))
    .filter((claim) => claim.devices.length > 0);
}

/** Returns "ttyUSB0 (port)", with "admin" for access that does not reserve the device. */
const claimDeviceText = ({ device, request, admin_access: isAdmin }) =>
  `${device} (${request}${isAdmin ? ", admin access" : ""})`;

function claimItem(claim) {
  const pod = podOfClaim(claim);
  return make("li", {}, make("span", { class: "path" }, `${claim.namespace}/${pod || claim.name}`),
    make("span", {}, pod ? "limits of the pod: " : "claim: ", claim.devices.map(claimDeviceText).join(", ")));
}

/** Shows the pool, the claims and the problems of a resource that is served by this API. */
function showPool(box, { name, api, dra: pool }) {
  box.hidden = api !== "dra";
  if (box.hidden) return;
  const claims = claimsOf(name);
  fill(box, JSON.stringify([pool, claims]), () => {
    const parts = [make("p", {}, "Dynamic Resource Allocation", ...(pool
      ? [": pool ", code(pool.pool), `, ${count(pool.slices, "slice")}, generation ${pool.generation}`,
        ...(pool.current ? [] : [make("span", { class: "warn" }, ", not up to date")])] : []))];
    const list = (title, items) => {
      if (items.length > 0) parts.push(make("h3", {}, title), make("ul", {}, ...items));
    };
    const line = (left, right) => make("li", {}, make("span", { class: "path" }, left), make("span", {}, right));
    list(count(claims.length, "prepared claim"), claims.map(claimItem));
    if (!pool) return parts;
    list("Not served", pool.not_served ? [make("li", { class: "whole" }, pool.not_served)] : []);
    list("Last write failed", pool.error ? [make("li", { class: "whole" }, pool.error)] : []);
    const taints = Object.entries(pool.taints);
    list(count(taints.length, "tainted device"), taints.slice(0, kProblemsShown).map(([id, taint]) => line(id, taint)));
    const problems = pool.problems.length + pool.problems_left_out;
    list(`${count(problems, "problem")}${problems > kProblemsShown ? `; showing the first ${kProblemsShown}` : ""}`,
      pool.problems.slice(0, kProblemsShown).map((text) => make("li", { class: "whole" }, text)));
    return parts;
  });
}

/** A claim template for one device, and a pod that uses it. */
const claimSnippet = (pod, deviceClass) => `apiVersion: resource.k8s.io/v1
kind: ResourceClaimTemplate
metadata:
  name: ${pod}
spec:
  spec:
    devices:
      requests:
      - name: device
        exactly:
          deviceClassName: ${deviceClass}
---
apiVersion: v1
kind: Pod
metadata:
  name: ${pod}
spec:
  restartPolicy: Never
  resourceClaims:
  - name: device
    resourceClaimTemplateName: ${pod}
  containers:
  - name: main
    image: debian:bookworm-slim
    command: [sleep, infinity]
    resources:
      claims:
      - name: device
`;
