{{- define "policyd.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* At most 40 characters, so that names of pods are their host names uncut. */}}
{{- define "policyd.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- $name := include "policyd.name" . -}}
{{- if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Of objects that are in no namespace: releases of one name in two namespaces are two. */}}
{{- define "policyd.clusterName" -}}
{{- printf "%s:%s" .Release.Namespace (include "policyd.fullname" .) -}}
{{- end -}}

{{- define "policyd.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "policyd.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "policyd.rulesNamespace" -}}
{{- default .Release.Namespace .Values.rules.namespace -}}
{{- end -}}

{{- define "policyd.selectorLabels" -}}
app.kubernetes.io/name: {{ include "policyd.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "policyd.labels" -}}
{{ include "policyd.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/component: scheduler
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "policyd.image" -}}
{{- with .Values.image -}}
{{- if .digest -}}
{{- printf "%s@%s" .repository .digest -}}
{{- else -}}
{{- printf "%s:%s" .repository (default $.Chart.AppVersion .tag) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* All profiles as JSON, the first one included: {"profiles": [{name, shipped, files}, …]}. */}}
{{- define "policyd.profiles" -}}
{{- $first := dict "name" .Values.schedulerName "shipped" .Values.rules.shipped "files" .Values.rules.files -}}
{{- $all := prepend .Values.profiles $first -}}
{{- $names := list -}}
{{- range $all -}}
{{- if has .name $names -}}
{{- fail (printf "two profiles have the name %s: name each scheduler once" .name) -}}
{{- end -}}
{{- $names = append $names .name -}}
{{- end -}}
{{- dict "profiles" $all | toJson -}}
{{- end -}}

{{/* The texts of a profile by file name, as JSON. Takes {root, profile}. */}}
{{- define "policyd.texts" -}}
{{- $texts := dict -}}
{{- range .profile.shipped -}}
{{- $text := $.root.Files.Get (printf "rules/%s" .) -}}
{{- if not $text -}}
{{- fail (printf "no file of the rules that ship is named %s; there are: %s" . (include "policyd.shipped" $.root)) -}}
{{- end -}}
{{- $_ := set $texts . $text -}}
{{- end -}}
{{- range $name, $text := .profile.files -}}
{{- $_ := set $texts $name $text -}}
{{- end -}}
{{- toJson $texts -}}
{{- end -}}

{{- define "policyd.shipped" -}}
{{- $names := list -}}
{{- range $path, $_ := .Files.Glob "rules/*.expr" -}}
{{- $names = append $names (base $path) -}}
{{- end -}}
{{- join ", " $names -}}
{{- end -}}

{{/* The labels of policyd's series in Prometheus. */}}
{{- define "policyd.series" -}}
{{- default (printf "namespace=%q, job=%q" .Release.Namespace (include "policyd.fullname" .)) .Values.prometheusRule.selector -}}
{{- end -}}
