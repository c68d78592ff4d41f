{{- define "patchbay.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "patchbay.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 50 | regexFind "^.*[a-z0-9]" -}}
{{- else if contains (include "patchbay.name" .) .Release.Name -}}
{{- .Release.Name | trunc 50 | regexFind "^.*[a-z0-9]" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name (include "patchbay.name" .) | trunc 50 | regexFind "^.*[a-z0-9]" -}}
{{- end -}}
{{- end -}}

{{- define "patchbay.selectorLabels" -}}
app.kubernetes.io/name: {{ include "patchbay.name" . | quote }}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
{{- end -}}

{{- define "patchbay.releaseLabels" -}}
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | quote }}
{{- end -}}

{{- define "patchbay.labels" -}}
app.kubernetes.io/name: {{ include "patchbay.name" . | quote }}
{{ include "patchbay.releaseLabels" . }}
{{- end -}}

{{- /* The pools as JSON: a list of {name, fullname, component, values}, one without a name if there are none. */ -}}
{{- define "patchbay.pools" -}}
{{- $root := . -}}
{{- $list := list -}}
{{- if .Values.pools -}}
{{- range $name, $pool := .Values.pools -}}
{{- $values := deepCopy $root.Values -}}
{{- range $key, $value := $pool -}}
{{- if has $key (list "podResources" "cdi" "netDevices" "dra" "openDevices" "toolsImage" "kubelet") -}}
{{- $_ := set $values $key (merge (deepCopy $value) (get $values $key)) -}}
{{- else -}}
{{- $_ := set $values $key $value -}}
{{- end -}}
{{- end -}}
{{- if and (hasKey $pool "config") (not (hasKey $pool "existingConfigMap")) -}}
{{- $_ := set $values "existingConfigMap" "" -}}
{{- end -}}
{{- if hasKey $pool "nodeSelector" -}}
{{- $_ := set $values "nodeSelector" (merge (deepCopy $pool.nodeSelector) $root.Values.nodeSelector) -}}
{{- end -}}
{{- $list = append $list (dict "name" $name "fullname" (printf "%s-%s" (include "patchbay.fullname" $root) $name) "values" $values) -}}
{{- end -}}
{{- else -}}
{{- $list = append $list (dict "name" "" "fullname" (include "patchbay.fullname" .) "values" .Values) -}}
{{- end -}}
{{- toJson $list -}}
{{- end -}}

{{- define "patchbay.image" -}}
{{- $image := .values.image -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $image.repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s%s" $image.repository (default .appVersion $image.tag) (ternary "-tools" "" .values.toolsImage.enabled) -}}
{{- end -}}
{{- end -}}

{{- define "patchbay.configMapName" -}}
{{- default .fullname .values.existingConfigMap -}}
{{- end -}}

{{- /* Whether a pool uses Dynamic Resource Allocation: "true" or nothing. */ -}}
{{- define "patchbay.usesDra" -}}
{{- $uses := false -}}
{{- range $pool := include "patchbay.pools" . | fromJsonArray -}}
{{- $uses = or $uses $pool.values.dra.enabled -}}
{{- end -}}
{{- ternary "true" "" $uses -}}
{{- end -}}

{{- define "patchbay.draName" -}}
{{- printf "%s-dra" (include "patchbay.fullname" .) -}}
{{- end -}}

{{- define "patchbay.podResourcesDirectory" -}}
{{- default (printf "%s/pod-resources" (.values.kubelet.root | trimSuffix "/")) .values.kubelet.podResources -}}
{{- end -}}
