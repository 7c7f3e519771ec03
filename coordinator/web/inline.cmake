# inline.cmake - writes one self-contained page: each <link rel="stylesheet" href="F"> and
# <script src="F"></script> of the source is replaced by the file's text.
#   cmake -D PAGE=flame.html -D OUT=... -P inline.cmake
get_filename_component(folder ${PAGE} DIRECTORY)
file(READ ${PAGE} html)

foreach(kind IN ITEMS style script)
    if(kind STREQUAL "style")
        set(pattern "<link rel=\"stylesheet\" href=\"([a-z_.]+)\">")
    else()
        set(pattern "<script src=\"([a-z_.]+)\"></script>")
    endif()
    while(html MATCHES "${pattern}")
        set(tag "${CMAKE_MATCH_0}")
        file(READ ${folder}/${CMAKE_MATCH_1} text)
        if(text MATCHES "</${kind}")
            message(FATAL_ERROR "${CMAKE_MATCH_1} holds its own end tag")
        endif()
        string(REPLACE "${tag}" "<${kind}>\n${text}</${kind}>" html "${html}")
    endwhile()
endforeach()

file(WRITE ${OUT} "${html}")
