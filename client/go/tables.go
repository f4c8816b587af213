// Code generated: made by tests/golden/languages.py from proto/tables.h. DO NOT EDIT.

// SPDX-License-Identifier: MIT

package stoker

const (
	protoVersion  = 1
	protoFrameMax = 65536
	protoDepthMax = 16
	protoNodesMax = 8192
	protoRunsMax  = 4
)

// Types of numbers, and the bytes of one.
var dtypeBytes = map[DType]uint64{
	"bool":       1,
	"int8":       1,
	"uint8":      1,
	"int16":      2,
	"uint16":     2,
	"float16":    2,
	"bfloat16":   2,
	"int32":      4,
	"uint32":     4,
	"float32":    4,
	"int64":      8,
	"uint64":     8,
	"float64":    8,
	"complex64":  8,
	"complex128": 16,
	"text":       1,
	"bytes":      1,
}

var messageTypes = []messageType{
	{number: 1, name: "hello", fields: []fieldType{
		{key: "seq", kind: kindUint, required: true, max: 4294967295},
		{key: "version_min", kind: kindUint, required: true, min: 1, max: 4294967295},
		{key: "version_max", kind: kindUint, required: true, min: 1, max: 4294967295},
		{key: "client", kind: kindText, max: 255},
	}},
	{number: 2, name: "welcome", fromDaemon: true, fields: []fieldType{
		{key: "seq", kind: kindUint, required: true, max: 4294967295},
		{key: "version", kind: kindUint, required: true, min: 1, max: 4294967295},
		{key: "daemon", kind: kindText, max: 255},
		{key: "pid", kind: kindUint, max: 4294967295},
		{key: "capabilities", kind: kindAny},
	}},
	{number: 3, name: "error", fromDaemon: true, fields: []fieldType{
		{key: "seq", kind: kindUint, required: true, max: 4294967295},
		{key: "code", kind: kindUint, required: true, min: 1, max: 4294967295},
		{key: "name", kind: kindText, required: true, min: 1, max: 255},
		{key: "text", kind: kindText, required: true, max: 4096},
		{key: "description", kind: kindAny},
	}},
	{number: 4, name: "ok", fromDaemon: true, fields: []fieldType{
		{key: "seq", kind: kindUint, required: true, max: 4294967295},
	}},
	{number: 10, name: "attach", fields: []fieldType{
		{key: "seq", kind: kindUint, required: true, max: 4294967295},
		{key: "dataset", kind: kindAny, required: true},
		{key: "transforms", kind: kindAny},
		{key: "dtype", kind: kindText, max: 16},
		{key: "layout", kind: kindText, max: 16},
		{key: "shuffle", kind: kindBoolean, def: 1, max: 1},
		{key: "order_seed", kind: kindUint, max: 18446744073709551615},
		{key: "augment_seed", kind: kindUint, max: 18446744073709551615},
		{key: "subset_start", kind: kindUint, max: 18446744073709551615},
		{key: "subset_stop", kind: kindUint, def: 18446744073709551615, max: 18446744073709551615},
		{key: "bad_samples", kind: kindText, max: 16},
		{key: "exif_orientation", kind: kindBoolean, max: 1},
		{key: "job", kind: kindText, max: 255},
		{key: "rank", kind: kindUint, max: 1048575},
		{key: "world", kind: kindUint, def: 1, min: 1, max: 1048576},
		{key: "batch_size", kind: kindUint, required: true, min: 1, max: 1048576},
		{key: "last_batch", kind: kindText, max: 16},
		{key: "epoch", kind: kindUint, max: 4294967295},
		{key: "position", kind: kindUint, max: 18446744073709551615},
		{key: "epochs", kind: kindUint, max: 4294967295},
		{key: "inflight", kind: kindUint, def: 3, max: 1024},
		{key: "prefetch", kind: kindUint, max: 1024},
		{key: "accept_fd", kind: kindBoolean, max: 1},
		{key: "accept_path", kind: kindBoolean, max: 1},
		{key: "expect_dataset", kind: kindText, max: 32},
		{key: "expect_names", kind: kindText, max: 32},
		{key: "accept_names", kind: kindBoolean, max: 1},
		{key: "expect_pipeline", kind: kindText, max: 32},
		{key: "start", kind: kindText, max: 16},
		{key: "pace", kind: kindText, max: 16},
		{key: "priority", kind: kindUint, def: 10, min: 1, max: 100},
		{key: "accept_moves", kind: kindBoolean, max: 1},
		{key: "draft", kind: kindBoolean, max: 1},
		{key: "fields", kind: kindAny},
		{key: "one_hot", kind: kindBoolean, max: 1},
		{key: "sampler", kind: kindAny},
		{key: "echo", kind: kindUint, def: 1, min: 1, max: 16},
		{key: "echo_window", kind: kindUint, def: 32, min: 2, max: 1048576},
		{key: "views", kind: kindUint, def: 1, min: 1, max: 32},
		{key: "expect_sampling", kind: kindText, max: 32},
		{key: "order", kind: kindText, max: 16},
		{key: "window", kind: kindUint, def: 16384, min: 1, max: 4294967295},
		{key: "resize", kind: kindText, max: 16},
		{key: "like", kind: kindUint, max: 18446744073709551615},
		{key: "expect_description", kind: kindText, max: 32},
		{key: "secret", kind: kindText, max: 16},
		{key: "page", kind: kindUint, def: 1, min: 1, max: 4294967295},
		{key: "accept_sizes", kind: kindBoolean, max: 1},
	}},
	{number: 11, name: "progress", fromDaemon: true, fields: []fieldType{
		{key: "seq", kind: kindUint, required: true, max: 4294967295},
		{key: "what", kind: kindText, required: true, max: 255},
		{key: "done", kind: kindUint, required: true, max: 18446744073709551615},
		{key: "total", kind: kindUint, max: 18446744073709551615},
	}},
	{number: 12, name: "attached", fromDaemon: true, fields: []fieldType{
		{key: "seq", kind: kindUint, required: true, max: 4294967295},
		{key: "reader", kind: kindUint, required: true, max: 18446744073709551615},
		{key: "stream", kind: kindUint, required: true, max: 18446744073709551615},
		{key: "ring", kind: kindUint, required: true, max: 18446744073709551615},
		{key: "dataset_fingerprint", kind: kindText, min: 32, max: 32},
		{key: "names_fingerprint", kind: kindText, min: 32, max: 32},
		{key: "pipeline_hash", kind: kindText, required: true, min: 32, max: 32},
		{key: "samples", kind: kindUint, required: true, min: 1, max: 18446744073709551615},
		{key: "batches", kind: kindUint, required: true, max: 18446744073709551615},
		{key: "transport", kind: kindText, required: true, min: 2, max: 16},
		{key: "path", kind: kindText, max: 4096},
		{key: "bytes", kind: kindUint, required: true, min: 4096, max: 18446744073709551615},
		{key: "epoch", kind: kindUint, max: 4294967295},
		{key: "position", kind: kindUint, max: 18446744073709551615},
		{key: "sampling_hash", kind: kindText, max: 32},
		{key: "note", kind: kindText, max: 4096},
		{key: "description", kind: kindAny},
		{key: "digest", kind: kindText, max: 32},
		{key: "sizes", kind: kindAny},
	}},
	{number: 13, name: "credit", fields: []fieldType{
		{key: "inflight", kind: kindUint, required: true, max: 1024},
	}},
	{number: 14, name: "batch", fromDaemon: true, fields: []fieldType{
		{key: "lease", kind: kindUint, required: true, min: 1, max: 18446744073709551615},
		{key: "epoch", kind: kindUint, required: true, max: 4294967295},
		{key: "position", kind: kindUint, required: true, max: 18446744073709551615},
		{key: "count", kind: kindUint, required: true, min: 1, max: 1048576},
		{key: "runs", kind: kindRuns, required: true, min: 1, max: 4},
		{key: "padded", kind: kindUint, max: 1048576},
		{key: "substituted", kind: kindUint, max: 1048576},
		{key: "next_epoch", kind: kindUint, required: true, max: 18446744073709551615},
		{key: "next_position", kind: kindUint, required: true, max: 18446744073709551615},
		{key: "ready_ns", kind: kindUint, max: 18446744073709551615},
		{key: "wrapped", kind: kindUint, max: 1048576},
		{key: "dataset_fingerprint", kind: kindText, min: 32, max: 32},
		{key: "height", kind: kindUint, max: 16384},
		{key: "width", kind: kindUint, max: 16384},
		{key: "origin", kind: kindUint, max: 4294967295},
		{key: "exact", kind: kindBoolean, def: 1, max: 1},
		{key: "differing", kind: kindUint, max: 18446744073709551615},
	}},
	{number: 15, name: "release", fields: []fieldType{
		{key: "lease", kind: kindUint, required: true, max: 18446744073709551615},
	}},
	{number: 16, name: "bad_sample", fromDaemon: true, fields: []fieldType{
		{key: "epoch", kind: kindUint, required: true, max: 4294967295},
		{key: "position", kind: kindUint, required: true, max: 18446744073709551615},
		{key: "sample", kind: kindUint, required: true, max: 18446744073709551615},
		{key: "code", kind: kindUint, required: true, min: 1, max: 4294967295},
		{key: "name", kind: kindText, required: true, min: 1, max: 255},
		{key: "path", kind: kindText, max: 4096},
		{key: "text", kind: kindText, required: true, max: 4096},
		{key: "next_epoch", kind: kindUint, required: true, max: 18446744073709551615},
		{key: "next_position", kind: kindUint, required: true, max: 18446744073709551615},
		{key: "field", kind: kindText, max: 255},
		{key: "needed", kind: kindUint, max: 18446744073709551615},
	}},
	{number: 17, name: "end", fromDaemon: true, fields: []fieldType{
		{key: "epoch", kind: kindUint, required: true, max: 18446744073709551615},
	}},
	{number: 18, name: "detach", fields: []fieldType{
		{key: "seq", kind: kindUint, required: true, max: 4294967295},
	}},
	{number: 19, name: "goaway", fromDaemon: true, fields: []fieldType{
		{key: "text", kind: kindText, required: true, max: 4096},
		{key: "deadline_ms", kind: kindUint, required: true, max: 4294967295},
	}},
	{number: 20, name: "ring", fromDaemon: true, fields: []fieldType{
		{key: "ring", kind: kindUint, required: true, max: 18446744073709551615},
		{key: "transport", kind: kindText, required: true, min: 2, max: 16},
		{key: "path", kind: kindText, max: 4096},
		{key: "bytes", kind: kindUint, required: true, min: 4096, max: 18446744073709551615},
	}},
	{number: 21, name: "stalled", fromDaemon: true, fields: []fieldType{
		{key: "epoch", kind: kindUint, required: true, max: 4294967295},
		{key: "position", kind: kindUint, required: true, max: 18446744073709551615},
		{key: "sample", kind: kindUint, required: true, max: 18446744073709551615},
		{key: "path", kind: kindText, max: 4096},
		{key: "read_ms", kind: kindUint, required: true, max: 18446744073709551615},
		{key: "why", kind: kindText, max: 4096},
		{key: "lease", kind: kindUint, max: 18446744073709551615},
	}},
	{number: 22, name: "credentials", fields: []fieldType{
		{key: "seq", kind: kindUint, required: true, max: 4294967295},
		{key: "url", kind: kindText, required: true, min: 1, max: 4096},
		{key: "key", kind: kindText, required: true, min: 1, max: 255},
		{key: "secret", kind: kindText, required: true, min: 1, max: 255},
		{key: "token", kind: kindText, max: 8191},
		{key: "expires", kind: kindUint, max: 18446744073709551615},
	}},
	{number: 23, name: "produce", fields: []fieldType{
		{key: "seq", kind: kindUint, required: true, max: 4294967295},
		{key: "code", kind: kindText, required: true, min: 1, max: 64},
		{key: "secret", kind: kindText, required: true, min: 16, max: 16},
		{key: "name", kind: kindText, max: 255},
		{key: "deadline_ms", kind: kindUint, max: 4294967295},
		{key: "check", kind: kindUint, max: 1000000},
	}},
	{number: 24, name: "producer", fromDaemon: true, fields: []fieldType{
		{key: "seq", kind: kindUint, required: true, max: 4294967295},
		{key: "producer", kind: kindUint, required: true, max: 18446744073709551615},
		{key: "bytes", kind: kindUint, required: true, min: 4096, max: 18446744073709551615},
		{key: "deadline_ms", kind: kindUint, required: true, max: 4294967295},
		{key: "nice", kind: kindUint, max: 19},
	}},
	{number: 25, name: "work", fromDaemon: true, fields: []fieldType{
		{key: "group", kind: kindUint, required: true, min: 1, max: 18446744073709551615},
		{key: "offset", kind: kindUint, required: true, max: 18446744073709551615},
		{key: "bytes", kind: kindUint, required: true, max: 18446744073709551615},
		{key: "seed", kind: kindUint, required: true, max: 18446744073709551615},
		{key: "samples", kind: kindAny, required: true},
	}},
	{number: 26, name: "made", fields: []fieldType{
		{key: "group", kind: kindUint, required: true, min: 1, max: 18446744073709551615},
		{key: "samples", kind: kindAny, required: true},
	}},
	{number: 27, name: "failed", fields: []fieldType{
		{key: "group", kind: kindUint, required: true, min: 1, max: 18446744073709551615},
		{key: "sample", kind: kindUint, required: true, max: 4294967295},
		{key: "text", kind: kindText, required: true, max: 4096},
		{key: "needed", kind: kindUint, max: 18446744073709551615},
	}},
	{number: 30, name: "ping", fields: []fieldType{
		{key: "seq", kind: kindUint, required: true, max: 4294967295},
	}},
	{number: 31, name: "status", fields: []fieldType{
		{key: "seq", kind: kindUint, required: true, max: 4294967295},
	}},
	{number: 32, name: "report", fromDaemon: true, fields: []fieldType{
		{key: "seq", kind: kindUint, required: true, max: 4294967295},
		{key: "values", kind: kindAny, required: true},
	}},
	{number: 33, name: "list", fields: []fieldType{
		{key: "seq", kind: kindUint, required: true, max: 4294967295},
		{key: "what", kind: kindText, required: true, min: 1, max: 32},
		{key: "after", kind: kindUint, max: 18446744073709551615},
		{key: "id", kind: kindUint, max: 18446744073709551615},
	}},
	{number: 34, name: "listing", fromDaemon: true, fields: []fieldType{
		{key: "seq", kind: kindUint, required: true, max: 4294967295},
		{key: "items", kind: kindAny, required: true},
		{key: "next", kind: kindUint, required: true, max: 18446744073709551615},
	}},
	{number: 35, name: "set", fields: []fieldType{
		{key: "seq", kind: kindUint, required: true, max: 4294967295},
		{key: "name", kind: kindText, required: true, min: 1, max: 64},
		{key: "value", kind: kindText, required: true, min: 1, max: 255},
	}},
	{number: 36, name: "stop", fields: []fieldType{
		{key: "seq", kind: kindUint, required: true, max: 4294967295},
		{key: "upgrade", kind: kindBoolean, max: 1},
	}},
	{number: 37, name: "index", fields: []fieldType{
		{key: "seq", kind: kindUint, required: true, max: 4294967295},
		{key: "dataset", kind: kindAny, required: true},
		{key: "transforms", kind: kindAny},
		{key: "exif_orientation", kind: kindBoolean, max: 1},
	}},
	{number: 38, name: "fit", fields: []fieldType{
		{key: "seq", kind: kindUint, required: true, max: 4294967295},
		{key: "dataset", kind: kindAny, required: true},
		{key: "transforms", kind: kindAny},
		{key: "name", kind: kindText, max: 63},
		{key: "per_pixel", kind: kindBoolean, max: 1},
		{key: "zca", kind: kindBoolean, max: 1},
		{key: "zca_epsilon", kind: kindAny},
		{key: "rescale", kind: kindAny},
		{key: "resize", kind: kindText, max: 16},
	}},
	{number: 39, name: "reload", fields: []fieldType{
		{key: "seq", kind: kindUint, required: true, max: 4294967295},
	}},
	{number: 40, name: "drop", fields: []fieldType{
		{key: "seq", kind: kindUint, required: true, max: 4294967295},
		{key: "id", kind: kindUint, max: 18446744073709551615},
	}},
	{number: 41, name: "pin", fields: []fieldType{
		{key: "seq", kind: kindUint, required: true, max: 4294967295},
		{key: "id", kind: kindUint, max: 18446744073709551615},
		{key: "pinned", kind: kindBoolean, def: 1, max: 1},
	}},
}

// The fields of ATTACH that decide about bytes: those of a token's description.
var bytesFields = []string{
	"transforms",
	"dtype",
	"layout",
	"shuffle",
	"order_seed",
	"augment_seed",
	"subset_start",
	"subset_stop",
	"exif_orientation",
	"draft",
	"sampler",
	"echo",
	"echo_window",
	"views",
	"order",
	"window",
	"resize",
}

// The errors of the protocol, for errors.Is. What the daemon says has its own text.
var (
	// ErrFrame: the length of a frame is 0 or above the limit.
	ErrFrame = &Error{Code: 1, Name: "frame"}
	// ErrStructure: the bytes are not one well-formed msgpack map within the limits.
	ErrStructure = &Error{Code: 2, Name: "structure"}
	// ErrMessage: no message has this number, or it does not belong on this socket.
	ErrMessage = &Error{Code: 3, Name: "message"}
	// ErrField: a key is missing, occurs twice, has a wrong type or is out of range.
	ErrField = &Error{Code: 4, Name: "field"}
	// ErrWrongState: the message is not allowed in this state of the connection.
	ErrWrongState = &Error{Code: 5, Name: "wrong_state"}
	// ErrVersion: no common protocol version.
	ErrVersion = &Error{Code: 6, Name: "version"}
	// ErrLease: no such lease: never granted, or already released.
	ErrLease = &Error{Code: 7, Name: "lease"}
	// ErrTimeout: a frame, HELLO or RELEASE did not come in time.
	ErrTimeout = &Error{Code: 8, Name: "timeout"}
	// ErrTooManyConnections: the daemon has reached its limit of connections.
	ErrTooManyConnections = &Error{Code: 9, Name: "too_many_connections"}
	// ErrOverrun: the peer does not read what the daemon sends.
	ErrOverrun = &Error{Code: 10, Name: "overrun"}
	// ErrDataset: the dataset cannot be opened or read.
	ErrDataset = &Error{Code: 20, Name: "dataset"}
	// ErrPipeline: a transform or a parameter is wrong.
	ErrPipeline = &Error{Code: 21, Name: "pipeline"}
	// ErrArgument: another value of the request is wrong.
	ErrArgument = &Error{Code: 22, Name: "argument"}
	// ErrMemory: the ring does not fit into ring-memory or the machine.
	ErrMemory = &Error{Code: 23, Name: "memory"}
	// ErrTransport: no transport that both sides can use.
	ErrTransport = &Error{Code: 24, Name: "transport"}
	// ErrToken: the resume token is for another dataset or pipeline.
	ErrToken = &Error{Code: 25, Name: "token"}
	// ErrPermission: the peer may not do this.
	ErrPermission = &Error{Code: 26, Name: "permission"}
	// ErrStopping: the daemon is stopping.
	ErrStopping = &Error{Code: 27, Name: "stopping"}
	// ErrSetting: no such setting, or a wrong value.
	ErrSetting = &Error{Code: 28, Name: "setting"}
	// ErrInternal: the daemon failed; its log says more.
	ErrInternal = &Error{Code: 29, Name: "internal"}
	// ErrLimit: this user has reached a limit.
	ErrLimit = &Error{Code: 30, Name: "limit"}
	// ErrCredentials: this user's own credentials of a storage are refused, or have expired.
	ErrCredentials = &Error{Code: 31, Name: "credentials"}
	// ErrSampleRead: the sample's bytes cannot be read.
	ErrSampleRead = &Error{Code: 40, Name: "sample_read"}
	// ErrSampleFormat: the image format is not supported.
	ErrSampleFormat = &Error{Code: 41, Name: "sample_format"}
	// ErrSampleCorrupt: the image is damaged or truncated.
	ErrSampleCorrupt = &Error{Code: 42, Name: "sample_corrupt"}
	// ErrSampleLimit: the image exceeds a limit (bytes, pixels, scans).
	ErrSampleLimit = &Error{Code: 43, Name: "sample_limit"}
	// ErrSampleTransform: a transform cannot be applied to this image.
	ErrSampleTransform = &Error{Code: 44, Name: "sample_transform"}
	// ErrSampleChanged: the file has changed since it was first read.
	ErrSampleChanged = &Error{Code: 45, Name: "sample_changed"}
	// ErrSampleUser: the user's code failed at it.
	ErrSampleUser = &Error{Code: 46, Name: "sample_user"}
	// ErrSampleLarger: it does not fit into the slots of a ragged field.
	ErrSampleLarger = &Error{Code: 47, Name: "sample_larger"}
)

// A DType says the type of a field's numbers, as NumPy calls it; of pictures uint8, uint16, float16, bfloat16, or float32. Empty: the default.
type DType string

const (
	// DTypeBool: of a field.
	DTypeBool DType = "bool"
	// DTypeInt8: of a field.
	DTypeInt8 DType = "int8"
	// DTypeUint8: bytes, as in the picture.
	DTypeUint8 DType = "uint8"
	// DTypeInt16: of a field.
	DTypeInt16 DType = "int16"
	// DTypeUint16: numbers of 16 bits, as in the file.
	DTypeUint16 DType = "uint16"
	// DTypeFloat16: numbers of 2 bytes.
	DTypeFloat16 DType = "float16"
	// DTypeBfloat16: numbers of 2 bytes, with the range of float32.
	DTypeBfloat16 DType = "bfloat16"
	// DTypeInt32: of a field.
	DTypeInt32 DType = "int32"
	// DTypeUint32: of a field.
	DTypeUint32 DType = "uint32"
	// DTypeFloat32: numbers of 4 bytes.
	DTypeFloat32 DType = "float32"
	// DTypeInt64: of a field.
	DTypeInt64 DType = "int64"
	// DTypeUint64: of a field.
	DTypeUint64 DType = "uint64"
	// DTypeFloat64: of a field.
	DTypeFloat64 DType = "float64"
	// DTypeComplex64: of a field.
	DTypeComplex64 DType = "complex64"
	// DTypeComplex128: of a field.
	DTypeComplex128 DType = "complex128"
	// DTypeText: of a field.
	DTypeText DType = "text"
	// DTypeBytes: of a field.
	DTypeBytes DType = "bytes"
)

// A Layout says NCHW (default) or NHWC. Empty: the default.
type Layout string

const (
	// LayoutNCHW: channels first.
	LayoutNCHW Layout = "NCHW"
	// LayoutNHWC: channels last.
	LayoutNHWC Layout = "NHWC"
)

// A BadSamples says error (default) or substitute. Empty: the default.
type BadSamples string

const (
	// BadSamplesError: a batch with a bad sample is left out, with an error.
	BadSamplesError BadSamples = "error"
	// BadSamplesSubstitute: a neighbour takes the place of a bad sample.
	BadSamplesSubstitute BadSamples = "substitute"
)

// A LastBatch says short (default), drop, pad or wrap. Empty: the default.
type LastBatch string

const (
	// LastBatchShort: the last batch of an epoch has what is left.
	LastBatchShort LastBatch = "short"
	// LastBatchDrop: a last batch that is not whole is left out.
	LastBatchDrop LastBatch = "drop"
	// LastBatchPad: it is filled up with the start of the epoch.
	LastBatchPad LastBatch = "pad"
	// LastBatchWrap: it is filled up with the start of the next epoch.
	LastBatchWrap LastBatch = "wrap"
)

// A Start says position (default), or live: where the stream is now. Empty: the default.
type Start string

const (
	// StartPosition: at epoch and position.
	StartPosition Start = "position"
	// StartLive: where the stream is now.
	StartLive Start = "live"
)

// A Pace says auto (default), free or together. Empty: the default.
type Pace string

const (
	// PaceAuto: goes on without a slower reader after a moment.
	PaceAuto Pace = "auto"
	// PaceFree: goes on without a slower reader at once.
	PaceFree Pace = "free"
	// PaceTogether: waits for slower readers, and they for it.
	PaceTogether Pace = "together"
)

// A Order says global (default) or shards: how it is shuffled. Empty: the default.
type Order string

const (
	// OrderGlobal: shuffled over all samples.
	OrderGlobal Order = "global"
	// OrderShards: shards are shuffled, then runs of samples within them.
	OrderShards Order = "shards"
)

// A Resize says whose bytes a resize makes: pillow-12 (absent) or pillow-13. Empty: the default.
type Resize string

const (
	// ResizePillow12: as Pillow 12.3 and all before it.
	ResizePillow12 Resize = "pillow-12"
	// ResizePillow13: as Pillow 13.
	ResizePillow13 Resize = "pillow-13"
)

// A Dataset is opened by the daemon. A relative path is made absolute here. Only Path
// is required, or Parts. The keys of a dataset in PROTOCOL.md say more.
type Dataset struct {
	// What to open: absolute, or a URL; of shards a pattern.
	Path string
	// Its kind; empty: by the path.
	Kind string
	// Folder of its paths; empty: the manifest's own (manifest).
	Root string
	// Lines, tsv, csv or jsonl; empty: by the file's ending (manifest).
	Format string
	// Name of the array of images (npz).
	Images string
	// Path of an array (npy), name of one (npz), fine or coarse (npy, npz, cifar100).
	Labels string
	// Train or test; empty: train (npz, cifar10, cifar100, mnist).
	Split string
	// What its column of paths is called; empty: path (manifest).
	PathColumn string
	// ... of labels; empty: label, or what is nothing else (manifest).
	LabelColumn string
	// Component, or feature, that is the picture (tar, tfrecord).
	Image string
	// ... that is the label (tar, tfrecord).
	Label string
	// Those that become fields, with blanks between (tar, tfrecord).
	Components string
	// Labels are numbers of so many classes (tar, tfrecord, code).
	Classes string
	// What a sample is without one: error or skip (tar, tfrecord).
	MissingComponent string
	// Identity of the code that makes the samples (code).
	Code string
	// How many there are (code).
	Samples string
	// No: samples may differ at each visit; empty: by the index alone (code).
	Pure string
	// What it gives: NAME:DTYPE:SHAPE of each, with blanks between; empty: bytes of pictures (code).
	Arrays string
	// For order shards: sizes of those that samples lie in, runs of equal ones as SIZExTIMES, with blanks between (code).
	Shards string

	// Instead of a path: 2 to 16 datasets that are joined.
	Parts []Dataset
}

// texts are the keys and values of a dataset that is not joined.
func (d *Dataset) texts() map[string]string {
	return map[string]string{
		"path":              absolute(d.Path),
		"kind":              d.Kind,
		"root":              absolute(d.Root),
		"format":            d.Format,
		"images":            d.Images,
		"labels":            d.Labels,
		"split":             d.Split,
		"path_column":       d.PathColumn,
		"label_column":      d.LabelColumn,
		"image":             d.Image,
		"label":             d.Label,
		"components":        d.Components,
		"classes":           d.Classes,
		"missing_component": d.MissingComponent,
		"code":              d.Code,
		"samples":           d.Samples,
		"pure":              d.Pure,
		"arrays":            d.Arrays,
		"shards":            d.Shards,
	}
}

// Options say what to read and how: the fields of ATTACH, by their names. The zero
// value of an option is its default, unless its comment says otherwise.
type Options struct {
	// Map: path, and the keys of its kind (required).
	Dataset Dataset
	// List of maps: name, and its parameters.
	Transforms []Transform
	// Uint8, uint16, float16, bfloat16, or float32.
	DType DType
	// NCHW (default) or NHWC.
	Layout Layout
	// A new order in each epoch (nil: true).
	Shuffle *bool
	// Seed of the order.
	OrderSeed uint64
	// Seed of the random transforms.
	AugmentSeed uint64
	// First sample of the dataset to use.
	SubsetStart uint64
	// One past the last sample to use; a larger value means the end (nil: all).
	SubsetStop *uint64
	// Error (default) or substitute.
	BadSamples BadSamples
	// Rotate images as their EXIF tag says (default false).
	ExifOrientation bool
	// Name shared by the ranks of one training run.
	Job string
	// Rank of this reader, below world.
	Rank uint32
	// Number of ranks (0 means 1).
	World uint32
	// Samples in a batch of one rank (required).
	BatchSize uint32
	// Short (default), drop, pad or wrap.
	LastBatch LastBatch
	// Epoch to start in.
	Epoch uint32
	// Global position in that epoch to start at.
	Position uint64
	// Epochs to deliver before END; 0: endless.
	Epochs uint32
	// Largest number of batches announced and not released (nil: 3).
	Inflight *uint32
	// Batches of all ranks that the ring holds; 0: the daemon chooses.
	Prefetch uint32
	// Dataset fingerprint in the resume token.
	ExpectDataset string
	// Fingerprint of names in the resume token.
	ExpectNames string
	// Pipeline hash in the resume token.
	ExpectPipeline string
	// Position (default), or live: where the stream is now.
	Start Start
	// Auto (default), free or together.
	Pace Pace
	// Weight among the streams of this user (0 means 10).
	Priority uint32
	// JPEGs may be decoded at 1/2, 1/4 or 1/8 size (default false).
	Draft bool
	// List of texts: further fields of the dataset to deliver; nil: all.
	Fields []string
	// Label as a float32 vector with a 1 at its class (default false).
	OneHot bool
	// Map: name, and its parameters; nil: all samples.
	Sampler Sampler
	// Number of times that each sample comes in an epoch (0 means 1).
	Echo uint32
	// Largest run of samples that is repeated together (0 means 32).
	EchoWindow uint32
	// Images made of each sample, each with its own random draws (0 means 1).
	Views uint32
	// Sampling hash in the resume token.
	ExpectSampling string
	// Global (default) or shards: how it is shuffled.
	Order Order
	// Of the order shards: largest run of samples that is shuffled as one (0 means 16384).
	Window uint32
	// Whose bytes a resize makes, pillow-12 or pillow-13; empty: pillow-13, or what the token says.
	Resize Resize
	// Digest of the description in the resume token.
	ExpectDescription string
	// Of a dataset of kind code: 16 bytes that its producers show, too.
	Secret string

	// Begin where this token says; it must be of the same stream.
	Token *Token
}

// fields are those of ATTACH that differ from their defaults.
func (o *Options) fields() map[string]any {
	out := map[string]any{}
	putTree(out, "dataset", o.Dataset.tree())
	putTree(out, "transforms", treeOf(o.Transforms))
	out["dtype"] = string(o.DType)
	out["layout"] = string(o.Layout)
	if o.Shuffle != nil {
		out["shuffle"] = bool(*o.Shuffle)
	}
	if o.OrderSeed != 0 {
		out["order_seed"] = uint64(o.OrderSeed)
	}
	if o.AugmentSeed != 0 {
		out["augment_seed"] = uint64(o.AugmentSeed)
	}
	if o.SubsetStart != 0 {
		out["subset_start"] = uint64(o.SubsetStart)
	}
	if o.SubsetStop != nil {
		out["subset_stop"] = uint64(*o.SubsetStop)
	}
	out["bad_samples"] = string(o.BadSamples)
	out["exif_orientation"] = o.ExifOrientation
	out["job"] = o.Job
	if o.Rank != 0 {
		out["rank"] = uint64(o.Rank)
	}
	if o.World != 0 {
		out["world"] = uint64(o.World)
	}
	if o.BatchSize != 0 {
		out["batch_size"] = uint64(o.BatchSize)
	}
	out["last_batch"] = string(o.LastBatch)
	if o.Epoch != 0 {
		out["epoch"] = uint64(o.Epoch)
	}
	if o.Position != 0 {
		out["position"] = uint64(o.Position)
	}
	if o.Epochs != 0 {
		out["epochs"] = uint64(o.Epochs)
	}
	if o.Inflight != nil {
		out["inflight"] = uint64(*o.Inflight)
	}
	if o.Prefetch != 0 {
		out["prefetch"] = uint64(o.Prefetch)
	}
	out["expect_dataset"] = o.ExpectDataset
	out["expect_names"] = o.ExpectNames
	out["expect_pipeline"] = o.ExpectPipeline
	out["start"] = string(o.Start)
	out["pace"] = string(o.Pace)
	if o.Priority != 0 {
		out["priority"] = uint64(o.Priority)
	}
	out["draft"] = o.Draft
	putTree(out, "fields", treeOf(o.Fields))
	out["one_hot"] = o.OneHot
	putTree(out, "sampler", treeOf(o.Sampler))
	if o.Echo != 0 {
		out["echo"] = uint64(o.Echo)
	}
	if o.EchoWindow != 0 {
		out["echo_window"] = uint64(o.EchoWindow)
	}
	if o.Views != 0 {
		out["views"] = uint64(o.Views)
	}
	out["expect_sampling"] = o.ExpectSampling
	out["order"] = string(o.Order)
	if o.Window != 0 {
		out["window"] = uint64(o.Window)
	}
	out["resize"] = string(o.Resize)
	out["expect_description"] = o.ExpectDescription
	out["secret"] = o.Secret
	return out
}
