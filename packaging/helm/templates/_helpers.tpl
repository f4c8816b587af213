{{- define "stoker.name" -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" }}-stoker
{{- end }}

{{- define "stoker.labels" -}}
app.kubernetes.io/name: stoker
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "stoker.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "stoker.priorityClass" -}}
{{- if .Values.priorityClass.create }}{{ include "stoker.name" . }}{{ else }}{{ .Values.priorityClass.name }}{{ end }}
{{- end }}
