{{- define "gantry.name" -}}
{{- $name := contains .Chart.Name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name .Chart.Name) }}
{{- $name | trunc 50 | trimSuffix "-" }}
{{- end }}

{{- define "gantry.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "gantry.labels" -}}
{{ include "gantry.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{/* The Secret with gantry.config; empty where the platform makes its own. */}}
{{- define "gantry.configSecret" -}}
{{- if .Values.config.content }}{{ include "gantry.name" . }}{{ else }}{{ .Values.config.existingSecret }}{{ end }}
{{- end }}
