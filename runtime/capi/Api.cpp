//===- Api.cpp - the functions of sluice.h ------------------------------------------------===//
#include "runtime/capi/Call.h"
#include "runtime/capi/Plan.h"
#include "runtime/capi/Session.h"
#include "runtime/capi/sluice.h"

#include <mutex>

using namespace sluice;
using namespace sluice::capi;

struct sluice_status : StatusHandle {
  using StatusHandle::StatusHandle;
};
struct sluice_plan {
  OpenPlan plan;
};
struct sluice_session {
  std::unique_ptr<Session> session;
  /// Held by a call.
  std::mutex busy;
};

namespace {

template <typename Function> sluice_status *guard(Function &&function) {
  return call<sluice_status>(std::forward<Function>(function));
}

/// The status of `function(session)`, or an error while another thread is in a call.
template <typename Function> sluice_status *with(sluice_session *handle, Function &&function) {
  return guard([&]() -> Status {
    SLUICE_RETURN_IF_ERROR(checkArgument(handle, "session"));
    const std::unique_lock lock(handle->busy, std::try_to_lock);
    if (!lock.owns_lock())
      return inputError("another thread is in a function of this session")
          .withNote("a session is used by one thread at a time");
    return function(*handle->session);
  });
}

} // namespace

int sluice_api_version(void) { return SLUICE_API_VERSION; }
const char *sluice_version(void) { return SLUICE_VERSION; }

int sluice_status_code(const sluice_status *status) { return status ? static_cast<int>(status->status.code()) : 0; }
const char *sluice_status_message(const sluice_status *status) {
  return status ? status->status.message().c_str() : "";
}
size_t sluice_status_note_count(const sluice_status *status) { return status ? status->status.notes().size() : 0; }
const char *sluice_status_note(const sluice_status *status, size_t index) {
  return index < sluice_status_note_count(status) ? status->status.notes()[index].c_str() : nullptr;
}
void sluice_status_free(sluice_status *status) { freeStatus(status); }
void sluice_text_free(char *text) { std::free(text); }

sluice_status *sluice_plan_open(const char *path, sluice_plan **plan) {
  return guard([&]() -> Status {
    SLUICE_RETURN_IF_ERROR(checkArguments({{path, "path"}, {plan, "plan"}}));
    SLUICE_ASSIGN_OR_RETURN(OpenPlan opened, OpenPlan::open(path));
    *plan = new sluice_plan{std::move(opened)};
    return Status::ok();
  });
}

sluice_status *sluice_plan_from_bytes(const void *data, size_t size, const char *name, sluice_plan **plan) {
  return guard([&]() -> Status {
    SLUICE_RETURN_IF_ERROR(checkArguments({{plan, "plan"}}));
    if (size != 0)
      SLUICE_RETURN_IF_ERROR(checkArgument(data, "data"));
    const auto *bytes = static_cast<const std::uint8_t *>(data);
    SLUICE_ASSIGN_OR_RETURN(OpenPlan parsed, OpenPlan::parse({bytes, bytes + size}, name ? name : "plan"));
    *plan = new sluice_plan{std::move(parsed)};
    return Status::ok();
  });
}

void sluice_plan_free(sluice_plan *plan) { delete plan; }

void sluice_plan_bytes(const sluice_plan *plan, const void **data, size_t *size) {
  if (data)
    *data = plan ? plan->plan.bytes.data() : nullptr;
  if (size)
    *size = plan ? plan->plan.bytes.size() : 0;
}

sluice_status *sluice_plan_report(const sluice_plan *plan, const char *report, char **text) {
  return guard([&]() -> Status {
    SLUICE_RETURN_IF_ERROR(checkArguments({{plan, "plan"}, {report, "report"}, {text, "text"}}));
    SLUICE_ASSIGN_OR_RETURN(const std::string result, planReport(plan->plan.file.plan, report));
    return copyText(result, text);
  });
}

sluice_status *sluice_session_open(const sluice_plan *plan, const char *options, sluice_session **session) {
  return guard([&]() -> Status {
    SLUICE_RETURN_IF_ERROR(checkArguments({{plan, "plan"}, {session, "session"}}));
    SLUICE_ASSIGN_OR_RETURN(SessionSettings settings, readSessionOptions(textOf(options)));
    // The ranks have a separate copy of the plan: the caller may free this one.
    SLUICE_ASSIGN_OR_RETURN(PlanFile file, parsePlan(plan->plan.bytes, plan->plan.name));
    auto opened = std::make_unique<sluice_session>();
    SLUICE_ASSIGN_OR_RETURN(opened->session, Session::open(std::move(file), plan->plan.name, std::move(settings)));
    *session = opened.release();
    return Status::ok();
  });
}

sluice_status *sluice_session_close(sluice_session *session) {
  return with(session, [](Session &open) { return open.close(); });
}

void sluice_session_free(sluice_session *session) {
  if (!session)
    return;
  // A call of another thread ends first.
  session->busy.lock();
  (void)guard([&] {
    session->session.reset();
    return Status::ok();
  });
  session->busy.unlock();
  delete session;
}

sluice_status *sluice_session_describe(sluice_session *session, char **json) {
  return with(session, [&](Session &open) -> Status {
    SLUICE_RETURN_IF_ERROR(checkArgument(json, "json"));
    SLUICE_ASSIGN_OR_RETURN(const std::string text, open.describe());
    return copyText(text, json);
  });
}

sluice_status *sluice_session_set_input(sluice_session *session, const char *entry, const char *input,
                                        const DLTensor *tensor) {
  return with(session, [&](Session &open) -> Status {
    SLUICE_RETURN_IF_ERROR(checkArguments({{entry, "entry"}, {input, "input"}, {tensor, "tensor"}}));
    return open.setInput(entry, input, *tensor);
  });
}

sluice_status *sluice_session_run(sluice_session *session, const char *entry, double lr, sluice_step *result) {
  return with(session, [&](Session &open) -> Status {
    SLUICE_RETURN_IF_ERROR(checkArgument(entry, "entry"));
    return open.run(entry, lr, result);
  });
}

/// Passes the tensor of `function(session)` to the caller.
template <typename Function>
static sluice_status *withTensor(sluice_session *session, const char *name, DLManagedTensorVersioned **tensor,
                                 Function &&function) {
  return with(session, [&](Session &open) -> Status {
    SLUICE_RETURN_IF_ERROR(checkArguments({{name, "name"}, {tensor, "tensor"}}));
    SLUICE_ASSIGN_OR_RETURN(OwnedTensor result, function(open));
    *tensor = result.release();
    return Status::ok();
  });
}

sluice_status *sluice_session_get_output(sluice_session *session, const char *entry, const char *output,
                                         DLManagedTensorVersioned **tensor) {
  return withTensor(session, output, tensor, [&](Session &open) -> Result<OwnedTensor> {
    SLUICE_RETURN_IF_ERROR(checkArgument(entry, "entry"));
    return open.output(entry, output);
  });
}

sluice_status *sluice_session_read(sluice_session *session, const char *name, DLManagedTensorVersioned **tensor) {
  return withTensor(session, name, tensor, [&](Session &open) { return open.read(name); });
}

sluice_status *sluice_session_view(sluice_session *session, const char *name, int rank,
                                   DLManagedTensorVersioned **tensor) {
  return withTensor(session, name, tensor, [&](Session &open) { return open.view(name, rank); });
}

sluice_status *sluice_session_write(sluice_session *session, const char *name, const DLTensor *tensor) {
  return with(session, [&](Session &open) -> Status {
    SLUICE_RETURN_IF_ERROR(checkArguments({{name, "name"}, {tensor, "tensor"}}));
    return open.write(name, *tensor);
  });
}

void *sluice_tensor_share(const DLManagedTensorVersioned *tensor, int versioned) {
  void *shared = nullptr;
  sluice_status *status = guard([&]() -> Status {
    SLUICE_RETURN_IF_ERROR(checkArgument(tensor, "tensor"));
    shared = versioned ? static_cast<void *>(shareTensor(*tensor)) : static_cast<void *>(shareUnversioned(*tensor));
    return Status::ok();
  });
  sluice_status_free(status);
  return shared;
}

sluice_status *sluice_session_load(sluice_session *session, const char *path) {
  return with(session, [&](Session &open) -> Status {
    SLUICE_RETURN_IF_ERROR(checkArgument(path, "path"));
    return open.load(path);
  });
}

sluice_status *sluice_session_save(sluice_session *session, const char *folder, const char *options) {
  return with(session, [&](Session &open) -> Status {
    SLUICE_RETURN_IF_ERROR(checkArgument(folder, "folder"));
    return open.save(folder, textOf(options));
  });
}

sluice_status *sluice_session_checkpoint(sluice_session *session) {
  return with(session, [](Session &open) { return open.checkpoint(); });
}

sluice_status *sluice_session_generate(sluice_session *session, const int64_t *prompt, size_t promptSize, size_t count,
                                       const char *options, int64_t *tokens, size_t *written) {
  return with(session, [&](Session &open) -> Status {
    if (promptSize != 0)
      SLUICE_RETURN_IF_ERROR(checkArgument(prompt, "prompt"));
    if (count != 0)
      SLUICE_RETURN_IF_ERROR(checkArgument(tokens, "tokens"));
    SLUICE_RETURN_IF_ERROR(checkArgument(written, "written"));
    SLUICE_ASSIGN_OR_RETURN(const std::vector<std::int64_t> generated,
                            open.generate({prompt, promptSize}, count, textOf(options)));
    std::copy(generated.begin(), generated.end(), tokens);
    *written = generated.size();
    return Status::ok();
  });
}
