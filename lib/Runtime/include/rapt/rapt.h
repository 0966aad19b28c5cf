/*===- rapt.h - Run compiled models --------------------------------------------===*\
|*
|* C99. A module is code and weights: immutable, shared by threads. A context is
|* cache and workspace: one thread at a time. A sequence is one text with its
|* keys and values in a context's cache.
|*
|*   rapt_module *module;  rapt_context *context;  rapt_sequence sequence;
|*   rapt_module_open("gpt2.so", NULL, &module, message, sizeof message);
|*   rapt_context_new(module, NULL, &context, message, sizeof message);
|*   rapt_sequence_new(context, &sequence, message, sizeof message);
|*   rapt_chunk chunk = {sizeof chunk};
|*   chunk.sequence = sequence, chunk.tokens = tokens, chunk.count = count, chunk.want = RAPT_LOGITS_LAST;
|*   rapt_step(context, &chunk, 1, message, sizeof message);   // chunk.logits[0 .. vocabulary)
|*
|* Structs begin with their size, from which the library knows the version of the struct that an application was
|* compiled with: set it to sizeof, also of structs that a call fills, and the rest to zero, which means the default.
|* Nothing beyond that size is read or written; members that an older struct lacks have their default. INVALID: a size
|* smaller than the first version's, above 4096, or no multiple of 8. UNSUPPORTED: a newer struct whose further members
|* are not 0. Structs in an array all have the size of the first one.
|* rapt_status.h describes errors. Nothing here keeps thread-local state, installs a signal handler or ends the
|* process. Pointers are borrowed for the call unless said otherwise. Counts and sizes are in the unit of the name.
|*
\*===----------------------------------------------------------------------===*/
#ifndef RAPT_RAPT_H
#define RAPT_RAPT_H
#include "rapt_pool.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct rapt_module rapt_module;
typedef struct rapt_context rapt_context;

/** Version of the library ("0.1.0"), and a word for a status ("MISMATCH"; "unknown" for any other number). Static
 * strings. */
RAPT_API const char *rapt_version(void);
RAPT_API const char *rapt_status_name(rapt_status status);

/*===-- Modules -----------------------------------------------------------------===*/

enum {
  RAPT_READ_WEIGHTS = 1, /**< Read the weights into memory instead of mapping the file. */
  RAPT_POPULATE = 2,     /**< Bring mapped weights into memory now. */
  RAPT_VERIFY = 4,       /**< Hash the weights again and compare with their content id. */
  RAPT_ANY_CONTENT = 8,  /**< Accept other weights of the same interface (a fine-tune). */
  RAPT_INSPECT = 16      /**< Read the manifest from the file alone: no code is loaded, no weights are opened. */
};

/** At most one of weights_path, weights_fd and weights_data; none: the weights inside the library, or else the file
 * that the manifest names, in the directory of the library's (or program's) own real path. RAPT_READ_WEIGHTS and
 * RAPT_POPULATE do nothing to weights inside the library and in weights_data. */
typedef struct rapt_module_options {
  size_t size;
  uint32_t flags;
  const char *weights_path;
  const int *weights_fd;    /**< Duplicated; read from its start whatever its offset. */
  const void *weights_data; /**< The whole weight file, aligned to 64 bytes, outliving the module. */
  size_t weights_bytes;
  const char *variant; /**< Code for this CPU, or GPU architecture, of those inside; NULL: the best that runs here. */
  int32_t device;      /**< Code for GPUs: the number of the GPU, as CUDA counts them. Code for CPUs: 0. */
} rapt_module_options;

/** Opens a compiled model. The processor is checked before any code of it can run. Starts no thread. Code for GPUs and
 * its weights go into the GPU's memory; UNSUPPORTED without a driver or a fitting GPU, as no CPU runs it instead. */
RAPT_API rapt_status rapt_module_open(const char *path, const rapt_module_options *options, rapt_module **module,
                                      char *message, size_t message_size);
/** The same for a model linked into the program: `artifact` is the PREFIX_module of its header. */
RAPT_API rapt_status rapt_module_from_artifact(const rapt_artifact *artifact, const rapt_module_options *options,
                                               rapt_module **module, char *message, size_t message_size);
/** Modules are counted: contexts keep theirs. NULL is ignored. */
RAPT_API void rapt_module_retain(rapt_module *module);
RAPT_API void rapt_module_release(rapt_module *module);

/** The manifest's JSON and size in bytes; lives as long as the module. */
RAPT_API const char *rapt_module_manifest(const rapt_module *module, size_t *bytes);
/** A file of the model's directory kept in the weight file ("tokenizer.json", ...). NULL and 0 bytes where there is
 * none. Lives as long as the module. */
RAPT_API const void *rapt_module_section(const rapt_module *module, const char *name, size_t *bytes);

/** Description of a model. Strings and lists live as long as the module. Numbers that do not apply are 0. */
typedef struct rapt_module_info {
  size_t size;
  const char *name, *family, *task, *source_dtype; /**< task: "decoder", ... */
  int64_t layers, hidden, heads, kv_heads, head_dim, vocabulary, positions, parameters;
  const int32_t *eos; /**< Ids that end a text. */
  size_t eos_count;
  int64_t max_tokens, max_rows; /**< Bounds of one step of the compiled code. */
  int64_t max_positions;        /**< Tokens of a sequence. */
  const char *cache_dtype;      /**< "mixed" where that of layers, or of keys and values, differs. */
  int64_t cache_block, cache_block_bytes, cache_bytes_per_token; /**< Tokens; bytes, of layers that keep all tokens. */
  const char *weights_file;                                      /**< NULL for none, or weights inside. */
  int64_t weights_file_bytes;                                    /**< Size of the file, or inside the library. */
  const char *target_arch;
  const char *target_cpu;    /**< The variant that runs, or would run of an inspected module; "" for none. */
  int64_t start_token;       /**< First token of an encoder-decoder's sequences; -1: none. */
  int64_t source_vocabulary; /**< Ids of an encoder-decoder's sources, if they have their own vocabulary: then
                                tokenizer.json is for sources and target_tokenizer.json for targets. 0: `vocabulary`. */
  const char *target_gpus;   /**< The GPUs that code for GPUs runs on, "sm_90a, sm_80 or newer"; "" for CPUs. */
  const char *target_gpu;    /**< The architecture of the code that runs on the GPU; "" for CPUs, and if inspected. */
  int64_t feature_channels, feature_frames; /**< Extents of sources that are features of sound; 0: tokens. */
  int64_t source_positions; /**< Positions that the encoder makes from such a source, or from an image. */
  int64_t image_token;      /**< The id that stands for a vector of an image, in a text with images; -1: none. */
  /** Layers with a window keep only the tokens of the longest window and of the running step. 0: none has a window. */
  int64_t cache_window;
  int64_t window_block_bytes, window_bytes_per_token; /**< Those of layers with a window. */
  int64_t image_channels, image_height, image_width;  /**< Extents of sources that are images; 0: none. */
  int64_t grid_height, grid_width;                    /**< The grid of an image's positions, row by row. */
  const char *const *adapters; /**< Names of the adapters that a sequence, or an encoder's row or image, can choose. */
  size_t adapter_count;
  int64_t state_bytes;            /**< Of a sequence's states, whatever its length; twice while a step runs. 0: none. */
  int64_t image_begin, image_end; /**< Ids ahead of an image's vectors in a text, and behind them; -1: none. */
  int64_t image_cell; /**< Pixels on a side of what a vector of an image stands for; 0: chunks need no image_grids. */
  int64_t audio_token, audio_begin, audio_end; /**< As those of images, of sounds in a text; -1: none. */
  int64_t video_token; /**< The id that stands for a video in a text, which no program reads; -1: none. */
} rapt_module_info;
/** Fills the first info->size bytes of *info, which may be fewer than any version's. */
RAPT_API rapt_status rapt_module_get_info(const rapt_module *module, rapt_module_info *info);

/*===-- Contexts ----------------------------------------------------------------===*/

typedef struct rapt_context_options {
  size_t size;
  int64_t cache_tokens;    /**< Of all sequences and their sources, rounded up to the block; 0: one sequence of the
                                model's positions, with as long a source if it has one. If every layer has a window,
                                a sequence may have more tokens: it needs blocks for those that it keeps only. */
  int64_t max_step_tokens; /**< rapt_step works in parts of this size, or of fewer tokens in a small cache; 0: 512 or
                              fewer. Bounds the workspace. */
  int64_t max_step_rows;   /**< Sequences of one part; 0: min(the model's bound, blocks of the cache). */
  rapt_pool *pool;         /**< At most one of pool and executor; none: the caller's thread. Unused by code for GPUs. */
  const rapt_executor *executor;   /**< Copied. */
  const rapt_allocator *allocator; /**< Copied. */
  rapt_log_fn log;
  rapt_progress_fn progress;
  void *user;           /**< Passed to log and progress. */
  int64_t window_slack; /**< If layers have windows: tokens by which rapt_sequence_truncate can always shorten a
                           sequence, counted from its greatest length, besides those of the last step (at most
                           max_step_tokens). Costs cache of the layers with windows. */
  const char *adapter;  /**< Name of the adapter of new sequences and of an encoder's rows and images; NULL: none. */
  int64_t keep_states_every; /**< If the model has states: a sequence keeps those behind each multiple of so many
                                tokens, to which rapt_sequence_truncate can go back, at state_bytes of rapt_module_info
                                each; 0: none. rapt_step works in parts that end there. */
} rapt_context_options;

/** Bytes that a context would allocate. */
typedef struct rapt_memory {
  size_t size;
  uint64_t weights;   /**< The module's, shared by its contexts; mapped from the file unless RAPT_READ_WEIGHTS. */
  uint64_t cache;     /**< With the default allocator, the system provides it when it is first used. The cache of layers
                           with windows starts with what one sequence needs, and grows with more sequences. */
  uint64_t workspace; /**< Memory of the compiled code, all workers together. */
  uint64_t per_worker; /**< How much of the workspace each further worker adds. */
  uint64_t other;      /**< Tables, and logits that the context holds; states of one sequence, of which there are more
                            with more sequences, and with those that they keep. */
  uint64_t most_cache; /**< The size to which the cache may grow: more than `cache` if layers have windows. */
} rapt_memory;

/** `memory->size` must be set. */
RAPT_API rapt_status rapt_context_memory(const rapt_module *module, const rapt_context_options *options,
                                         rapt_memory *memory, char *message, size_t message_size);
RAPT_API rapt_status rapt_context_new(rapt_module *module, const rapt_context_options *options, rapt_context **context,
                                      char *message, size_t message_size);
/** Also ends all its sequences. Must not run beside another call on the context. NULL is ignored. */
RAPT_API void rapt_context_free(rapt_context *context);
/** Tokens that the cache can hold in all, and those that fit in blocks that no sequence holds. If only some layers have
 * windows, this is about the others. */
RAPT_API int64_t rapt_context_capacity(const rapt_context *context);
RAPT_API int64_t rapt_context_available(const rapt_context *context);
/** Makes the rapt_step, rapt_encode or rapt_run that runs now, or else the next one, return RAPT_CANCELLED, even if
 * it would have failed otherwise. That call uses up the cancel, and all others that came before it returns. May be
 * called from any thread and from a signal handler. */
RAPT_API void rapt_cancel(rapt_context *context);

/*===-- Sequences ---------------------------------------------------------------===*/

/** Names a sequence of one context; 0 names none, and a freed sequence's number is not used again. */
typedef uint64_t rapt_sequence;

RAPT_API rapt_status rapt_sequence_new(rapt_context *context, rapt_sequence *sequence, char *message,
                                       size_t message_size);
/** Chooses the adapter of a sequence without tokens, by its name; NULL: none. A new sequence has that of the context's
 * options, a fork that of its sequence. Sequences of one step may have different ones. */
RAPT_API rapt_status rapt_sequence_set_adapter(rapt_context *context, rapt_sequence sequence, const char *name,
                                               char *message, size_t message_size);
/** The name of the sequence's adapter, which lives as long as the module; NULL where it has none, there is no such
 * sequence, or another thread is using the context. */
RAPT_API const char *rapt_sequence_adapter(const rapt_context *context, rapt_sequence sequence);
RAPT_API rapt_status rapt_sequence_free(rapt_context *context, rapt_sequence sequence, char *message,
                                        size_t message_size);
/** Tokens in the cache; -1 when there is no such sequence or another thread is using the context. */
RAPT_API int64_t rapt_sequence_length(const rapt_context *context, rapt_sequence sequence);
/** Forgets the tokens from `length` on. A model with states (state_bytes of rapt_module_info) goes back to a length of
 * which the sequence keeps them: the one that it has; 0, of a sequence with a source only with keep_states_every; and
 * the multiples of keep_states_every that it reached. Any other one is RAPT_UNSUPPORTED and changes nothing; the
 * message has the greatest possible one below it. RAPT_UNSUPPORTED, too, if layers have windows and the window before
 * `length` is no longer kept (window_slack); without states 0 is always possible. */
RAPT_API rapt_status rapt_sequence_truncate(rapt_context *context, rapt_sequence sequence, int64_t length,
                                            char *message, size_t message_size);
/** A new sequence with the same past. Blocks are shared until one of the two writes into them; states, those that are
 * kept among them, until both have forgotten them. */
RAPT_API rapt_status rapt_sequence_fork(rapt_context *context, rapt_sequence sequence, rapt_sequence *fork,
                                        char *message, size_t message_size);
/** Writes the sequence, its source with it, to `buffer` and its size to *bytes. Of its states it has the present ones,
 * and none that are kept of fewer tokens. RAPT_FULL when `capacity` is smaller; with a NULL buffer only the size is
 * written. */
RAPT_API rapt_status rapt_sequence_save(rapt_context *context, rapt_sequence sequence, void *buffer, size_t capacity,
                                        size_t *bytes, char *message, size_t message_size);
/** A new sequence from a saved state of the same interface, weights, layout and cache dtype; it has the adapter that
 * was saved, by its name. */
RAPT_API rapt_status rapt_sequence_load(rapt_context *context, const void *state, size_t bytes, rapt_sequence *sequence,
                                        char *message, size_t message_size);

/*===-- Running -----------------------------------------------------------------===*/

/** The source of an encoder-decoder's sequence. */
typedef struct rapt_source {
  size_t size;
  rapt_sequence sequence; /**< Without tokens and without source. */
  const int32_t *tokens;
  int64_t count;
  float *hidden;         /**< NULL, or memory for the encoder's output: f32 [count or source_positions, hidden]. */
  size_t hidden_bytes;   /**< Size of `hidden`. */
  const float *features; /**< In place of tokens: sound [feature_channels, feature_frames], or an image [image_channels,
                              image_height, image_width]; NULL otherwise. */
  size_t feature_bytes;  /**< Size of `features`. */
} rapt_source;

/** Runs the encoder and binds each source to its sequence: keys and values of every layer of the decoder go into the
 * cache once. Forks share them, rapt_sequence_truncate keeps them, rapt_sequence_free drops them. On any failure and
 * when canceled no sequence has a source. */
RAPT_API rapt_status rapt_encode(rapt_context *context, const rapt_source *sources, size_t count, char *message,
                                 size_t message_size);

typedef enum rapt_logits {
  RAPT_LOGITS_NONE = 0,
  RAPT_LOGITS_LAST = 1, /**< Those of the chunk's last token: f32 [1, vocabulary]. */
  RAPT_LOGITS_ALL = 2   /**< Those of each of its tokens: f32 [count, vocabulary]. */
} rapt_logits;

/** New tokens of one sequence. */
typedef struct rapt_chunk {
  size_t size;
  rapt_sequence sequence;
  const int32_t *tokens;
  int64_t count;              /**< At least 1. */
  int32_t want;               /**< rapt_logits */
  float *output;              /**< Memory for the logits; NULL: the context's own. */
  size_t output_bytes;        /**< Size of `output`. */
  const float *logits;        /**< Set by rapt_step: where they are. The context's own hold until its next step. */
  const float *embeddings;    /**< Vectors of the chunk's image and audio tokens in order, as their entries give. */
  size_t embedding_bytes;     /**< Size of `embeddings`. */
  const int32_t *image_grids; /**< Rows and columns of the images that begin in it, i32 [images, 2]: see image_cell. */
  size_t image_grid_bytes;    /**< Size of `image_grids`. */
} rapt_chunk;

/** Appends each chunk's tokens to its sequence. On any failure and when canceled, every sequence is as before, but
 * can then be truncated by window_slack tokens only; the content of `output` is undefined. On a GPU a step without
 * logits may return before its kernels are done; the next call that reads their results reports their failure. */
RAPT_API rapt_status rapt_step(rapt_context *context, rapt_chunk *chunks, size_t count, char *message,
                               size_t message_size);

/** Numbers as in DLPack. */
enum { RAPT_DEVICE_CPU = 1 };
enum { RAPT_DTYPE_INT = 0, RAPT_DTYPE_UINT = 1, RAPT_DTYPE_FLOAT = 2, RAPT_DTYPE_BFLOAT = 4 };

typedef struct rapt_tensor {
  size_t size;
  void *data;
  int32_t device_type, device_id;
  uint8_t dtype_code, dtype_bits;
  uint16_t dtype_lanes; /**< 1; 0 is read as 1. */
  int32_t rank;
  const int64_t *shape;
  const int64_t *strides; /**< In elements; NULL: dense, row-major. */
} rapt_tensor;

/** Runs a named entry on tensors, inputs and outputs in one list. Names are Hugging Face's; rows of unequal length
 * are padded on the right. Decoders have "forward": input_ids i64 or i32 [batch, length]; attention_mask i64, optional,
 * ones, then zeros; logits f32 [batch, length, vocabulary], 0 beyond a row's length. It borrows free cache blocks.
 * Encoder-decoders have decoder_input_ids and decoder_attention_mask for the logits, and encoder_last_hidden_state f32
 * [batch, length, hidden]; those that read features input_features f32 [batch, feature_channels, feature_frames] in
 * place of input_ids, of images pixel_values f32 [batch, image_channels, image_height, image_width]. Where the model
 * has adapters: adapter, integers [batch], 1 for the first one, 0 for none; without it the context's. Compiled with
 * --attention-weights, attentions f32 [batch, length, layers, heads, positions], or encoder_, decoder_ and
 * cross_attentions. `positions` is the bound of the compiled code, also in cross_attentions, whose last dimension runs
 * over the source: rapt_run_shape returns it; beyond a text's end are zeros. Compiled with --attention-log-sum-exp,
 * log_sum_exp f32 [batch, length, layers, heads], or encoder_, decoder_ and cross_log_sum_exp, 0 beyond a row's length.
 * Other models have the entries of their manifest. Outputs may be left out. */
RAPT_API rapt_status rapt_run(rapt_context *context, const char *entry, size_t count, const char *const *names,
                              const rapt_tensor *tensors, char *message, size_t message_size);

/** Computes the shape (at most 9 numbers) that an output of rapt_run has for these inputs. Runs nothing. */
RAPT_API rapt_status rapt_run_shape(rapt_context *context, const char *entry, size_t count, const char *const *names,
                                    const rapt_tensor *tensors, const char *output, int64_t *shape, int32_t *rank,
                                    char *message, size_t message_size);

#ifdef __cplusplus
}
#endif
#endif
