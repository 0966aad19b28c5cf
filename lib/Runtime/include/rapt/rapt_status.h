/*===- rapt_status.h - Status codes of every Rapt library ------------------===*\
|*
|* C99. Shared by rapt.h and rapt_text.h, so that an application handles one
|* set of outcomes.
|*
|* Functions that can fail return a rapt_status. Those that can say why also
|* take `char *message, size_t message_size`: memory of the caller that
|* receives one line of UTF-8 (no prefix, no newline), NUL-terminated and cut
|* at a character when the memory is short. NULL or size 0 asks for no message.
|* On success the message is the empty string. The libraries keep no last error
|* of their own, so calls from different threads never mix their messages.
|*
\*===----------------------------------------------------------------------===*/
#ifndef RAPT_STATUS_H
#define RAPT_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

/** Outcome of a call. Values are part of the ABI: new ones are only added at the end. */
typedef enum rapt_status {
  RAPT_OK = 0,
  RAPT_INVALID = 1,      /**< An argument is wrong: NULL, out of range, wrong shape or structure size. */
  RAPT_BAD_FILE = 2,     /**< A file or its content is damaged or is not what it claims to be. */
  RAPT_MISMATCH = 3,     /**< Two good parts do not belong together: library, weights, saved state, ABI versions. */
  RAPT_CPU = 4,          /**< The processor or the operating system lacks a feature the code needs. */
  RAPT_NOMEM = 5,        /**< Memory could not be obtained. */
  RAPT_FULL = 6,         /**< The cache pool, or the memory the caller gave for a result, is too small. */
  RAPT_TOO_LONG = 7,     /**< A sequence would exceed the model's or the context's positions. */
  RAPT_BUSY = 8,         /**< The object is in use by another thread. */
  RAPT_CANCELLED = 9,    /**< The caller canceled; sequences are as before the call. */
  RAPT_IO = 10,          /**< The operating system or a device failed to read or write. */
  RAPT_FORKED = 11,      /**< The object belongs to the parent process and may only be destroyed here. */
  RAPT_UNSUPPORTED = 12, /**< Understood, but this version or this model cannot do it. */
  RAPT_BUG = 13          /**< A fault of Rapt itself; please report it. */
} rapt_status;

#ifdef __cplusplus
}
#endif

#endif /* RAPT_STATUS_H */
