#include "coordinator/cli/field.h"

#include <jansson.h>
#include <stdio.h>

const struct json_t *field(const struct json_t *o, const char *key)
{
    return json_object_get(o, key); /* NULL of NULL */
}

const char *field_text(const struct json_t *o, const char *key)
{
    const char *text = json_string_value(field(o, key));

    return text != NULL ? text : "";
}

const char *field_id(const struct json_t *o, const char *key, char buffer[FIELD_ID_MAX])
{
    const json_t *value = field(o, key);

    if (json_is_integer(value))
        snprintf(buffer, FIELD_ID_MAX, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else
        snprintf(buffer, FIELD_ID_MAX, "%s", field_text(o, key));
    return buffer;
}

bool field_is_number(const struct json_t *o, const char *key)
{
    return json_is_number(json_object_get(o, key));
}

double field_number(const struct json_t *o, const char *key)
{
    return json_number_value(field(o, key));
}

const char *field_percent(const struct json_t *o, const char *key, char text[FORMAT_MAX])
{
    return field_is_number(o, key) ? format_percent(field_number(o, key), text) : "-";
}

bool field_flag(const struct json_t *o, const char *key)
{
    return json_is_true(field(o, key));
}

size_t field_count(const struct json_t *array)
{
    return json_array_size(array);
}

const struct json_t *field_at(const struct json_t *array, size_t index)
{
    return json_array_get(array, index);
}

const char *field_text_at(const struct json_t *array, size_t index)
{
    const char *text = json_string_value(json_array_get(array, index));

    return text != NULL ? text : "";
}

/* snprintf's return, held to what was really written. */
static size_t written(int length, size_t room)
{
    if (length < 0)
        return 0;
    return (size_t)length < room ? (size_t)length : room - 1;
}

const char *field_nonzero(const struct json_t *o, char *out, size_t room)
{
    size_t at = 0;
    const char *key;
    json_t *value;

    out[0] = '\0';
    json_object_foreach((json_t *)o, key, value) /* jansson's iteration takes no const */
    {
        if (json_number_value(value) != 0)
            at += written(snprintf(out + at, room - at, "%s%s=%.0f", at > 0 ? ", " : "", key,
                                   json_number_value(value)),
                          room - at);
    }
    return out;
}

const char *field_pairs(const struct json_t *o, char *out, size_t room)
{
    size_t at = 0;
    const char *key;
    json_t *value;

    out[0] = '\0';
    json_object_foreach((json_t *)o, key, value)
    {
        const char *text = json_string_value(value);

        at += written(snprintf(out + at, room - at, "%s%s=%s", at > 0 ? " " : "", key,
                               text != NULL ? text : ""),
                      room - at);
    }
    return out;
}
