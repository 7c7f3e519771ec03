/* symbolize - frames become functions through three memories: frame -> chain, symbol -> function
 * (a symbol is demangled once, however many addresses fall into it), and identity -> function. */
#include "coordinator/query/symbolize.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/utf8.h"
#include "coordinator/query/array.h"
#include "coordinator/query/demangle.h"
#include "coordinator/query/id_map.h"
#include "coordinator/query/keys.h"
#include "coordinator/query/texts.h"

enum {
    ADDRESS_TEXT_MAX = CHUNK_STRING_BYTES_MAX + 32, /* binary+0xoffset */
    BUILD_ID_SHOWN = 12, /* hex digits that stand for a binary without a path */
};

struct binary {
    uint32_t name; /* text */
    struct symbol_cache_entry *symbols; /* held; NULL: the store has none that can be read */
};

struct chain { /* of a frame: where its functions are */
    uint32_t first, count;
};

struct symbolizer {
    struct symbol_cache *cache;
    struct store_view *view;
    const struct dictionary *dictionary;
    struct texts texts; /* names of functions and binaries */
    struct id_map frames; /* chain by frame id */
    struct chain *chains;
    uint32_t chain_count, chain_capacity;
    struct frame_function *links; /* of all chains, one after the other */
    uint32_t link_count, link_capacity;
    struct keys symbols, identities, binary_ids;
    uint32_t *of_symbol; /* function, by number in symbols */
    uint32_t of_symbol_capacity;
    struct binary *binaries; /* by number in binary_ids */
    uint32_t binary_capacity;
    struct function *functions; /* by number in identities */
    uint32_t function_capacity;
};

enum status symbolizer_new(struct symbol_cache *c, struct store_view *v, struct symbolizer **out)
{
    struct symbolizer *s = calloc(1, sizeof(*s));

    if (s == NULL)
        return ST_NOMEM;
    s->cache = c;
    s->view = v;
    s->dictionary = store_view_dictionary(v);
    *out = s;
    return ST_OK;
}

void symbolizer_free(struct symbolizer *s)
{
    if (s == NULL)
        return;
    for (uint32_t i = 0; i < s->binary_ids.count; i++)
        symbol_cache_release(s->cache, s->binaries[i].symbols);
    id_map_deinit(&s->frames);
    keys_deinit(&s->symbols);
    keys_deinit(&s->identities);
    keys_deinit(&s->binary_ids);
    texts_deinit(&s->texts);
    free(s->chains);
    free(s->links);
    free(s->of_symbol);
    free(s->binaries);
    free(s->functions);
    free(s);
}

/* The last part of a path, without what the kernel appends to that of an unlinked file. */
static enum status put_binary_name(struct symbolizer *s, const struct chunk_binary *binary,
                                   uint32_t *out)
{
    static const char deleted[] = " (deleted)";
    const char *path = binary == NULL ? "" : dictionary_string(s->dictionary, binary->path);
    const char *slash = strrchr(path, '/');
    char name[CHUNK_STRING_BYTES_MAX + 1], id[BUILD_ID_TEXT_MAX];
    size_t length;

    snprintf(name, sizeof(name), "%s", slash != NULL ? slash + 1 : path);
    length = strlen(name);
    if (length >= sizeof(deleted) && strcmp(name + length - sizeof(deleted) + 1, deleted) == 0)
        name[length - sizeof(deleted) + 1] = '\0';
    if (name[0] == '\0' && binary != NULL)
        snprintf(name, sizeof(name), "[%.*s]", BUILD_ID_SHOWN, build_id_format(&binary->id, id));
    return texts_put(&s->texts, name[0] == '\0' ? "[unknown]" : name, out);
}

static enum status open_binary(struct symbolizer *s, const struct chunk_frame *frame,
                               struct binary *out)
{
    const struct chunk_binary *binary = dictionary_binary(s->dictionary, frame->binary);
    struct binary b = {0};
    enum status st;

    if (frame->kind == FRAME_KERNEL)
        st = texts_put(&s->texts, "[kernel]", &b.name);
    else
        st = put_binary_name(s, binary, &b.name);
    if (st != ST_OK)
        return st;
    if (binary != NULL && binary->id.length > 0)
        st = symbol_cache_hold(s->cache, s->view, &binary->id, &b.symbols);
    if (st == ST_NOMEM)
        return st;
    *out = b; /* no symbols or unreadable ones: addresses stay addresses */
    return ST_OK;
}

static enum status find_binary(struct symbolizer *s, const struct chunk_frame *frame, uint32_t *out)
{
    struct key key = {.low = frame->binary, .high = frame->kind};
    enum status st;

    *out = keys_find(&s->binary_ids, key);
    if (*out != KEYS_NONE)
        return ST_OK;
    st =
        array_reserve(&s->binaries, &s->binary_capacity, s->binary_ids.count, sizeof(*s->binaries));
    if (st == ST_OK)
        st = open_binary(s, frame, &s->binaries[s->binary_ids.count]);
    if (st == ST_OK) {
        struct symbol_cache_entry *symbols = s->binaries[s->binary_ids.count].symbols;

        st = keys_put(&s->binary_ids, key, out);
        if (st != ST_OK)
            symbol_cache_release(s->cache, symbols);
    }
    return st;
}

static void clean(char *name)
{
    utf8_repair(name, strlen(name));
    for (; *name != '\0'; name++) {
        if ((unsigned char)*name < ' ' || *name == 0x7f)
            *name = '?';
    }
}

/* The function of a name in a binary; `f` lacks only its texts. */
static enum status intern(struct symbolizer *s, struct function f, const char *name,
                          uint32_t binary_name, uint32_t *out)
{
    uint32_t text, index;
    struct key key;
    enum status st = texts_put(&s->texts, name, &text);

    if (st == ST_OK)
        st = array_reserve(&s->functions, &s->function_capacity, s->identities.count,
                           sizeof(*s->functions));
    if (st != ST_OK)
        return st;
    key.high = key_pair(text, binary_name);
    key.low = key_pair(f.named ? CHUNK_NO_PARENT : f.binary_id, f.kind);
    index = s->identities.count;
    st = keys_put(&s->identities, key, out);
    if (st == ST_OK && *out == index) {
        f.name = s->texts.texts[text];
        f.binary = s->texts.texts[binary_name];
        f.file = "";
        s->functions[index] = f;
    }
    return st;
}

static enum status name_symbol(struct symbolizer *s, const struct chunk_frame *frame,
                               uint32_t binary, const char *symbol, uint32_t *out)
{
    struct function f = {.kind = frame->kind, .binary_id = frame->binary, .named = true};
    struct key key = {.high = (uintptr_t)symbol, .low = binary};
    uint32_t number = keys_find(&s->symbols, key);
    char name[DEMANGLE_TEXT_MAX];
    enum status st;

    if (number != KEYS_NONE) {
        *out = s->of_symbol[number];
        return ST_OK;
    }
    if (!demangle(symbol, name))
        snprintf(name, sizeof(name), "%s", symbol);
    clean(name);
    st = intern(s, f, name, s->binaries[binary].name, out);
    if (st == ST_OK)
        st = array_reserve(&s->of_symbol, &s->of_symbol_capacity, s->symbols.count,
                           sizeof(*s->of_symbol));
    if (st == ST_OK)
        st = keys_put(&s->symbols, key, &number);
    if (st == ST_OK)
        s->of_symbol[number] = *out;
    return st;
}

static enum status name_bare_address(struct symbolizer *s, const struct chunk_frame *frame,
                                     uint32_t binary, uint32_t *out)
{
    struct function f = {.kind = frame->kind, .binary_id = frame->binary};
    char name[ADDRESS_TEXT_MAX];

    snprintf(name, sizeof(name), "%s+0x%" PRIx64, s->texts.texts[s->binaries[binary].name],
             frame->offset);
    clean(name);
    return intern(s, f, name, s->binaries[binary].name, out);
}

/* Keeps the first source file that is seen of a function. */
static enum status note_file(struct symbolizer *s, uint32_t function, const char *file)
{
    struct function *f = &s->functions[function];
    char text[PLACES_TEXT_MAX + 1];
    uint32_t number;
    enum status st;

    if (file == NULL || f->file[0] != '\0')
        return ST_OK;
    snprintf(text, sizeof(text), "%s", file);
    clean(text);
    st = texts_put(&s->texts, text, &number);
    if (st == ST_OK)
        f->file = s->texts.texts[number];
    return st;
}

static enum status add_link(struct symbolizer *s, struct frame_function link)
{
    enum status st = array_reserve(&s->links, &s->link_capacity, s->link_count, sizeof(*s->links));

    if (st == ST_OK)
        s->links[s->link_count++] = link;
    return st;
}

static enum status add_place(struct symbolizer *s, const struct chunk_frame *frame, uint32_t binary,
                             const struct place *place)
{
    const char *symbol = place->function;
    struct frame_function link = {.line = place->line};
    enum status st;

    if (symbol == NULL && s->binaries[binary].symbols != NULL)
        symbol = symtab_find(symbol_cache_table(s->binaries[binary].symbols), frame->offset);
    if (symbol != NULL)
        st = name_symbol(s, frame, binary, symbol, &link.function);
    else
        st = name_bare_address(s, frame, binary, &link.function);
    if (st == ST_OK)
        st = note_file(s, link.function, place->file);
    return st == ST_OK ? add_link(s, link) : st;
}

static enum status name_address(struct symbolizer *s, const struct chunk_frame *frame)
{
    struct place places[SYMBOLIZE_CHAIN_MAX] = {0};
    uint32_t binary, count = 0;
    enum status st = find_binary(s, frame, &binary);

    if (st == ST_OK && s->binaries[binary].symbols != NULL)
        count = places_find(&symbol_cache_table(s->binaries[binary].symbols)->places, frame->offset,
                            places, SYMBOLIZE_CHAIN_MAX);
    if (count == 0) /* the first place, empty, stands for the function itself */
        count = 1;
    for (uint32_t i = 0; i < count && st == ST_OK; i++)
        st = add_place(s, frame, binary, &places[i]);
    return st;
}

/* NAMED and MARK frames bring their name; a frame that is not there is said to be so. */
static enum status name_text(struct symbolizer *s, const struct chunk_frame *frame, uint32_t *out)
{
    struct function f = {.kind = FRAME_MARK, .binary_id = CHUNK_NO_PARENT, .named = true};
    char name[CHUNK_STRING_BYTES_MAX + 1] = "[unknown]", readable[DEMANGLE_TEXT_MAX];
    uint32_t no_binary;
    enum status st = texts_put(&s->texts, "", &no_binary);

    if (st != ST_OK)
        return st;
    if (frame != NULL) {
        f.kind = frame->kind;
        snprintf(name, sizeof(name), "%s", dictionary_string(s->dictionary, frame->name));
    }
    if (f.kind == FRAME_NAMED && demangle(name, readable)) {
        clean(readable);
        return intern(s, f, readable, no_binary, out);
    }
    clean(name);
    return intern(s, f, name[0] == '\0' ? "[unnamed]" : name, no_binary, out);
}

static enum status add_chain(struct symbolizer *s, const struct chunk_frame *frame,
                             struct chain *out)
{
    struct chain chain = {.first = s->link_count};
    struct frame_function link = {0};
    enum status st;

    if (frame != NULL && (frame->kind == FRAME_NATIVE || frame->kind == FRAME_KERNEL)) {
        st = name_address(s, frame);
    } else {
        st = name_text(s, frame, &link.function);
        if (st == ST_OK)
            st = add_link(s, link);
    }
    chain.count = s->link_count - chain.first;
    if (st == ST_OK)
        *out = chain;
    else
        s->link_count = chain.first;
    return st;
}

static enum status find_chain(struct symbolizer *s, uint32_t frame, struct chain *out)
{
    const struct chunk_frame *f = dictionary_frame(s->dictionary, frame);
    uint32_t known = f == NULL ? ID_MAP_NONE : id_map_get(&s->frames, frame);
    enum status st;

    if (known != ID_MAP_NONE) {
        *out = s->chains[known];
        return ST_OK;
    }
    st = array_reserve(&s->chains, &s->chain_capacity, s->chain_count, sizeof(*s->chains));
    if (st == ST_OK)
        st = add_chain(s, f, out);
    if (st == ST_OK && f != NULL) {
        s->chains[s->chain_count] = *out;
        st = id_map_set(&s->frames, frame, s->chain_count++);
    }
    return st;
}

enum status symbolizer_frame(struct symbolizer *s, uint32_t frame,
                             const struct frame_function **out, uint32_t *count)
{
    struct chain chain;
    enum status st = find_chain(s, frame, &chain);

    if (st != ST_OK)
        return st;
    *out = &s->links[chain.first];
    *count = chain.count;
    return ST_OK;
}

const struct function *symbolizer_get(const struct symbolizer *s, uint32_t function)
{
    return &s->functions[function];
}

uint32_t symbolizer_count(const struct symbolizer *s)
{
    return s->identities.count;
}
